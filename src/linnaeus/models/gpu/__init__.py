"""The linear core in PyTorch, on a GPU or, for tests, on the processor.

    documents        X on the device, parts of it, its transpose and its product; `streamed`: X that does not fit
    triton_kernels   products, vectors and best columns written out for CUDA
    columns          blocks of labels as Newton's method sees them: losses over pairs document x label, leaves
    recorded         operations that repeat, as CUDA graphs
    newton           Newton's method by conjugate gradients, many columns in lock-step, over dual variables
    margin           the same for the squared hinge, on lists of pairs within the margin; on CUDA `triton_lists`
    screening        which documents a block looks at
    inner            the vertices between the leaves, solved exactly
    flat             blocks of labels that know nothing of each other, as an engine runs them
    coarse           regions of the taxonomy, moved at once
    joint            all leaves of a network together
    top              the best k nodes of documents

Everything here imports torch, which is an extra: nothing outside imports these modules but inside functions.
"""
