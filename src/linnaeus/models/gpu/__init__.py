"""The linear core in PyTorch, on a GPU or, for tests, on the processor.

    documents        sparse (or dense) X on the device, rows and features of it, its transpose
    products         the two products of sparse documents and dense blocks; `triton_products` writes them out for CUDA
    losses           squared hinge and logistic loss over blocks of pairs document x label
    newton           Newton's method by conjugate gradients, many columns in lock-step, over dual variables
    inner            the vertices between the leaves, solved exactly
    flat             blocks of labels that know nothing of each other
    joint            all leaves of a network together
    top              the best k nodes of documents

Everything here imports torch, which is an extra: nothing outside imports these modules but inside functions.
"""
