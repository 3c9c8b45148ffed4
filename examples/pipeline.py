"""linnaeus inside scikit-learn: a pipeline over dense embeddings, cross-validation and a grid search.

    python examples/pipeline.py

The embeddings are images of digits, projected to 24 dimensions; vectors of a neural network take their place as they
are. The taxonomy says which digits look alike.
"""

from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linnaeus import RRSVM, MulticlassSVM, Taxonomy, metrics

shapes = Taxonomy.from_paths(
    [
        *(["closed", digit] for digit in "0689"),
        *(["open", "straight", digit] for digit in "147"),
        *(["open", "curved", digit] for digit in "235"),
    ]
)
images = load_digits()
X_train, X_test, y_train, y_test = train_test_split(images.data, images.target.astype(str), random_state=0)

# A model is a step like any other. score() is hierarchical F1, so that searches need no scorer of their own.
chain = make_pipeline(TruncatedSVD(24, random_state=0), StandardScaler(), RRSVM(shapes, random_state=0))
search = GridSearchCV(chain, {"rrsvm__C": [0.01, 0.1, 1.0]}, cv=3).fit(X_train, y_train)
print(f"C = {search.best_params_['rrsvm__C']}: hierarchical F1 {search.score(X_test, y_test):.3f}")

# Any measure becomes a scorer: here how far wrong answers are from the right ones, in edges of the taxonomy.
distance = make_scorer(metrics.tree_induced_error, taxonomy=shapes, greater_is_better=False)
print(f"mean distance of answers: {-distance(search, X_test, y_test):.3f} edges")

# Another model in the same place. One label per document: the flat multi-class SVM is hard to beat.
flat = make_pipeline(TruncatedSVD(24, random_state=0), StandardScaler(), MulticlassSVM(shapes, C=0.1, random_state=0))
print(f"flat: hierarchical F1 {cross_val_score(flat, X_train, y_train, cv=3).mean():.3f} by cross-validation")

# Label sets: scikit-learn refuses ragged lists, and takes zeros and ones.
Y_train = shapes.close(shapes.indicator(y_train)).toarray()
Y_test = shapes.close(shapes.indicator(y_test)).toarray()
print(f"closed sets: hierarchical F1 {chain.fit(X_train, Y_train).score(X_test, Y_test):.3f}")
