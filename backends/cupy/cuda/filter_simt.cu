// The gradient of a convolution by its filter on CUDA cores.
//
// Idea: it is the matrix product
//
//     result[row, k] = sum over places of read[place, row] * out_backprop[place, k]
//
// of the matrix in windows.cuh, which is never written out. Its depth are the places: far more than
// there are rows or channels, so blocks share them out (splits), and total.cu adds up what they made.
//
// A block makes ROWS x CHANNELS (simt.cuh), DEPTH places a step. What it knows of a step's places is
// worked out by a few threads one step ahead, beside the slices: one barrier a step is enough.
//
// VECTOR: channels of the input are contiguous and 16 bytes of them are read at once.
// BY_PLACE: neighbouring threads read neighbouring places, which is how NCDHW lies, not channels.

template <class T, int ROWS, int CHANNELS, int DEPTH, int MY_ROWS, int MY_CHANNELS, bool VECTOR, bool BY_PLACE>
struct FilterSimt : SimtTile<T, ROWS, CHANNELS, DEPTH, MY_ROWS, MY_CHANNELS> {
    typedef SimtTile<T, ROWS, CHANNELS, DEPTH, MY_ROWS, MY_CHANNELS> Base;
    typedef typename Base::Sum Sum;
    typedef typename Base::Slice Slice;
    using Base::THREADS;
    using Base::ACROSS;
    typedef typename Base::template Reading<ROWS, VECTOR ? 16 / int(sizeof(T)) : 1, !BY_PLACE> OfInput;
    typedef typename Base::template Reading<CHANNELS, 1, !BY_PLACE> OfGradient;

    struct Memory {
        Row row[ROWS];
        Place place[2][DEPTH];
        Slice slice[2];
    };

    static __device__ __forceinline__ void run(const T* __restrict__ input, const T* __restrict__ gradient,
                                               T* __restrict__ result, Sum* __restrict__ parts,
                                               const Windows& windows) {
        SHARED_MEMORY(raw);
        Memory& memory = *reinterpret_cast<Memory*>(raw);
        const FilterTile tile(windows, ROWS, CHANNELS);
        const int thread = int(threadIdx.x);
        for (int i = thread; i < ROWS; i += THREADS) memory.row[i] = row_of(windows, tile.row + i);
        if (thread < DEPTH) memory.place[0][thread] = place_of(windows, tile.first + thread, tile.end);
        __syncthreads();

        Sum sums[MY_ROWS][MY_CHANNELS];
        Base::clear(sums);
        const int down = thread / ACROSS, across = thread % ACROSS;
        const int steps = int((tile.end - tile.first + DEPTH - 1) / DEPTH);
        typename OfInput::Vector of_input[OfInput::READS];
        typename OfGradient::Vector of_gradient[OfGradient::READS];
        for (int step = 0; step <= steps; step++) {
            if (step < steps) fetch(of_input, of_gradient, input, gradient, windows, memory, step, tile.channel);
            if (step > 0) Base::multiply(sums, memory.slice[(step - 1) % 2], down, across);
            if (step < steps) {
                OfInput::keep(memory.slice[step % 2].data, of_input);
                OfGradient::keep(memory.slice[step % 2].filter, of_gradient);
            }
            if (step + 1 < steps && thread < DEPTH)
                memory.place[(step + 1) % 2][thread] =
                    place_of(windows, tile.first + int64_t(step + 1) * DEPTH + thread, tile.end);
            __syncthreads();
        }
        write(result, parts + tile.to, sums, windows, memory, tile.channel, down, across);
    }

    static __device__ __forceinline__ void fetch(typename OfInput::Vector* of_input,
                                                 typename OfGradient::Vector* of_gradient,
                                                 const T* __restrict__ input, const T* __restrict__ gradient,
                                                 const Windows& windows, const Memory& memory, int step,
                                                 int first_channel) {
        #pragma unroll
        for (int i = 0; i < OfInput::READS; i++) {
            const auto at = OfInput::place(i);
            of_input[i] = {};
            if (at.inside()) {
                const Row& row = memory.row[at.line];
                const Place& place = memory.place[step % 2][at.k];
                if (meets(windows, row, place)) of_input[i] = OfInput::read(input + row.from + place.from);
            }
        }
        #pragma unroll
        for (int i = 0; i < OfGradient::READS; i++) {
            const auto at = OfGradient::place(i);
            const int c = first_channel + at.line;
            of_gradient[i] = {};
            if (at.inside() && c < windows.out_channels) {
                const Place& place = memory.place[step % 2][at.k];
                if (place.inside)
                    of_gradient[i] = OfGradient::read(gradient + place.other + c * windows.other_strides[4]);
            }
        }
    }

    static __device__ __forceinline__ void write(T* __restrict__ result, Sum* __restrict__ parts,
                                                 Sum (&sums)[MY_ROWS][MY_CHANNELS], const Windows& windows,
                                                 const Memory& memory, int first_channel, int down, int across) {
        #pragma unroll
        for (int i = 0; i < MY_ROWS; i++) {
            const Row& row = memory.row[Base::row_in_tile(i, down)];
            if (!row.inside) continue;
            #pragma unroll
            for (int j = 0; j < MY_CHANNELS; j++) {
                const int c = first_channel + Base::channel_in_tile(j, across);
                if (c >= windows.out_channels) continue;
                if (windows.whole) {
                    result[row.to + c] = Number<T>::rounded(sums[i][j]);
                } else {
                    parts[row.to + c] = sums[i][j];
                }
            }
        }
    }
};
