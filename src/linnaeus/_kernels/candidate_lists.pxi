# Lists of documents with their dual variables and scores; of one that is too long the largest are found.

cdef struct Entry:
    int row
    double b, s


cdef struct List:
    Entry* items
    Py_ssize_t n, room


cdef inline int push(List* list, int row, double b, double s) noexcept nogil:
    cdef Entry* items
    if list.n == list.room:
        items = <Entry*> realloc(list.items, (2 * list.room + 64) * sizeof(Entry))
        if items == NULL:
            return -1
        list.items, list.room = items, 2 * list.room + 64
    list.items[list.n].row = row
    list.items[list.n].b = b
    list.items[list.n].s = s
    list.n += 1
    return 0


cdef inline bint ahead(Entry* x, Entry* y) noexcept nogil:
    return x.b > y.b or (x.b == y.b and x.row < y.row)


cdef void largest_first(Entry* a, Py_ssize_t n, Py_ssize_t goal) noexcept nogil:
    """Reorder so that the ``goal`` entries with the largest b come first; equal ones by row."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef Entry pivot, swap
    while low < high:
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while ahead(&a[i], &pivot):
                i += 1
            while ahead(&pivot, &a[j]):
                j -= 1
            if i <= j:
                swap = a[i]
                a[i] = a[j]
                a[j] = swap
                i += 1
                j -= 1
        if goal <= j:
            high = j
        elif goal >= i:
            low = i
        else:
            return
