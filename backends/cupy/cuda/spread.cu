// Makes columns: the first half of a convolution, or of its filter's gradient, by a matrix product.
//
// Idea: the matrix of what the windows read (windows.cuh) is written out, a slab of places at a time.
// One thread makes one element. Where the input's channels are contiguous, so are a place's rows, and
// neighbouring threads write neighbouring rows; BY_ROW, for NCDHW, the matrix lies turned, and they
// write neighbouring places.

template <class T, int THREADS, bool BY_ROW>
__device__ __forceinline__ void spread(const T* __restrict__ input, T* __restrict__ columns,
                                       const Windows& windows) {
    const int64_t places = windows.places - windows.first_place;
    const int64_t index = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (index >= places * windows.rows) return;
    int64_t line = index;
    const int along = divide(line, int(BY_ROW ? places : windows.rows));
    const Row row = row_of(windows, BY_ROW ? line : along);
    const Place place = place_of(windows, windows.first_place + (BY_ROW ? along : line), windows.places);
    columns[index] = meets(windows, row, place) ? input[row.from + place.from] : Number<T>::rounded(0);
}
