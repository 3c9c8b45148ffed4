"""The linear core in PyTorch, on a GPU or, for tests, on the processor.

    documents        X on the device, rows and features of it, its transpose; `streamed`: X that does not fit there
    products         the two products of sparse documents and dense blocks; `triton_products` writes them out for CUDA
    vectors          what conjugate gradients do to arrays, with a twin in Triton as `products` has
    losses           squared hinge and logistic loss over blocks of pairs document x label
    newton           Newton's method by conjugate gradients, many columns in lock-step, over dual variables
    inner            the vertices between the leaves, solved exactly
    flat             blocks of labels that know nothing of each other
    coarse           regions of the taxonomy, moved at once
    joint            all leaves of a network together
    binary           blocks of labels as an engine runs them
    top              the best k nodes of documents

Everything here imports torch, which is an extra: nothing outside imports these modules but inside functions.
"""
