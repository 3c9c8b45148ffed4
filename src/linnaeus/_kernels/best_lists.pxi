# Lists of the K best values, with where each comes from: what `best_sets` builds its tables of.


cdef struct List:
    int size
    double* value
    int* before
    int* child


cdef inline void insert(List* T, int K, double window, double value, int before, int child) noexcept nogil:
    """Put an entry in its place behind those that are as good; the list keeps K."""
    cdef int i
    if T.size and value < T.value[0] - window:
        return
    if T.size < K:
        i = T.size
        T.size += 1
    elif value > T.value[K - 1]:
        i = K - 1
    else:
        return
    while i > 0 and T.value[i - 1] < value:
        T.value[i] = T.value[i - 1]
        T.before[i] = T.before[i - 1]
        T.child[i] = T.child[i - 1]
        i -= 1
    T.value[i] = value
    T.before[i] = before
    T.child[i] = child


cdef inline void trim(List* T, double window) noexcept nogil:
    while T.size > 1 and T.value[T.size - 1] < T.value[0] - window:
        T.size -= 1


cdef inline void merge(
    List* T, int K, double window, const double* F, int n_F, int first_F, const double* A, int n_A, int first_A,
    double gain, int child
) noexcept nogil:
    """T = the K best of F without the child, and of A with one entry of it; entries without it come first in a tie."""
    cdef int i = 0, a = 0, out = 0
    cdef double least = -INFINITY
    while out < K and (i < n_F or a < n_A):
        if i < n_F and (a >= n_A or F[i] >= A[a] + gain):
            if F[i] < least:
                break
            T.value[out] = F[i]
            T.before[out] = first_F + i
            T.child[out] = -1
            i += 1
        else:
            if A[a] + gain < least:
                break
            T.value[out] = A[a] + gain
            T.before[out] = first_A + a
            T.child[out] = child
            a += 1
        if out == 0:
            least = T.value[0] - window
        out += 1
    T.size = out


cdef inline void add_sums(
    List* T, int K, double window, const double* A, int n_A, int first_A, const double* B, int start, int n_B,
    int first_B
) noexcept nogil:
    """Add the sums of A and B[start:]: those of the a-th and the b-th best can be among the K best only if a b <= K."""
    cdef int a, b
    cdef double value
    if start >= n_B:
        return
    for a in range(n_A):
        if T.size and A[a] + B[start] < T.value[0] - window:
            return
        if T.size == K and A[a] + B[start] <= T.value[K - 1]:
            return
        for b in range(start, n_B):
            if (a + 1) * (b + 1) > K:
                break
            value = A[a] + B[b]
            if T.size == K and value <= T.value[K - 1]:
                break
            insert(T, K, window, value, first_A + a, first_B + b)
