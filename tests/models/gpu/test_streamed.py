"""Documents that stay on the host give what documents on the device give."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from linnaeus import RRSVM, OneVsRestLogistic, OneVsRestSVM, RRLogistic
from linnaeus.engine import GPUEngine
from linnaeus.models.gpu import flat, joint, streamed
from linnaeus.models.gpu.documents import SparseRows, on_device, product, squares
from linnaeus.models.gpu.streamed import StreamedRows, placed, turned
from tests.models.gpu.worked import CPU, problem, random_csr

X = random_csr(40, 15)
HELD, SENT = on_device(X, "cpu"), StreamedRows(X, "cpu", most=800)
RANDOM = torch.Generator().manual_seed(0)


def test_there_are_several_chunks_and_they_cover_all_rows() -> None:
    parts = [part for part, _ in SENT.chunks()]
    assert len(parts) > 3
    assert [i for part in parts for i in range(40)[part]] == list(range(40))
    one_row_each = StreamedRows(X, "cpu", most=1)
    assert len(list(one_row_each.chunks())) > 30


@pytest.mark.parametrize("exact", [True, False])
def test_products(exact) -> None:
    W, A = torch.randn((15, 4), generator=RANDOM), torch.randn((40, 4), generator=RANDOM)
    torch.testing.assert_close(product(SENT, W, exact=exact), product(HELD, W, exact=exact))
    torch.testing.assert_close(product(SENT.T, A, exact=exact), product(HELD.T, A, exact=exact))
    assert SENT.T.T is SENT


def test_rows_parts_and_transposes_with_other_values() -> None:
    wanted = torch.tensor([3, 30, 7])
    W = torch.randn((15, 4), generator=RANDOM)
    torch.testing.assert_close(product(SENT.rows(wanted), W), product(HELD, W)[wanted])
    torch.testing.assert_close(product(SENT.slice(slice(5, 9)), W), product(HELD, W)[5:9])
    (part, features), (other, same) = SENT.part(wanted), HELD.part(wanted)
    torch.testing.assert_close(features, same)
    torch.testing.assert_close(part.values, other.values)
    A = torch.randn((40, 2), generator=RANDOM)
    torch.testing.assert_close(product(turned(SENT, squares), A), product(turned(HELD, squares), A))


def test_documents_are_streamed_where_they_take_more_than_half_of_the_memory() -> None:
    assert isinstance(placed(X, CPU), SparseRows)
    assert isinstance(placed(X, GPUEngine("cpu", memory=3000)), StreamedRows)


@pytest.mark.parametrize("model", [OneVsRestSVM, OneVsRestLogistic, RRSVM, RRLogistic])
def test_models_do_not_notice(model, monkeypatch) -> None:
    tax, X, Y = problem()
    held = model(tax, tol=1e-4, engine=CPU).fit(X, Y)
    made = []

    def small(X, engine):
        made.append(StreamedRows(X, engine.device, most=10_000))
        return made[-1]

    monkeypatch.setattr(streamed, "placed", small)
    monkeypatch.setattr(flat, "placed", small)
    monkeypatch.setattr(joint, "placed", small)
    found = model(tax, tol=1e-4, engine=CPU).fit(X, Y)
    assert len(made) == 1
    np.testing.assert_allclose(found.objective_, held.objective_, rtol=2e-4)


def test_a_small_device_streams_and_says_so(capsys) -> None:
    tax, X, Y = problem()
    OneVsRestLogistic(tax, engine=GPUEngine("cpu", memory="20kB"), verbose=1).fit(X, Y)
    assert "documents, streamed" in capsys.readouterr().err
