# The best children of a node: what the kernels that score branching share.


cdef inline int largest(
    const double* gain, const int* children, i64 begin, i64 end, const unsigned char* forced, int most, double* best,
    int* who
) noexcept nogil:
    """The ``most`` largest finite gains of children that are not forced, in order; returns how many there are.

    Equal ones are in the order of the children. ``forced`` may be NULL: no child is.
    """
    cdef int found = 0, i
    cdef i64 e
    cdef int c
    cdef double g
    for e in range(begin, end):
        c = children[e]
        g = gain[c]
        if (forced != NULL and forced[c]) or g == -INFINITY or (found == most and (most == 0 or g <= best[most - 1])):
            continue
        i = found if found < most else most - 1
        while i > 0 and best[i - 1] < g:
            best[i] = best[i - 1]
            who[i] = who[i - 1]
            i -= 1
        best[i] = g
        who[i] = c
        if found < most:
            found += 1
    return found
