# What `panel.h` offers: rows of X against sixteen columns of weights at once. PANEL is the number of columns.

cdef extern from "panel.h" nogil:
    enum: PANEL
    void panel_dot_f(Py_ssize_t n, const int* indices, const float* data, const float* W, float* S)
    void panel_dot_d(Py_ssize_t n, const int* indices, const double* data, const double* W, double* S)
    void panel_dot_exact(Py_ssize_t n, const int* indices, const float* data, const float* W, double* S)
    void panel_axpy_f(Py_ssize_t n, const int* indices, const float* data, const float* D, float* W)
    void panel_axpy_d(Py_ssize_t n, const int* indices, const double* data, const double* D, double* W)
    void panel_axpy_exact(Py_ssize_t n, const int* indices, const float* data, const double* D, double* W)
    void panel_prefetch(const void* place, Py_ssize_t n_bytes)
