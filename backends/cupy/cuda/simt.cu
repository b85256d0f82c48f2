// Either side of a convolution on CUDA cores: for float64, float32 without TF32, and few channels.
//
// Idea: each phase (problem.cuh) is a matrix product
//
//     result[row, c] = sum over (tap, k) of data[row's place at tap, k] * filter[tap, c, k]
//
// A block makes ROWS x CHANNELS of it. It steps through the depth DEPTH channels k at a time. There
// are two slices of both operands in shared memory (simt.cuh), so the next one is read from memory
// while this one is used, and one barrier a step is enough.
//
// VECTOR: the channels k of the data, and of a filter that is not FORWARD's, are contiguous and 16
// bytes of them are read at once.
// BY_ROW: neighbouring threads read neighbouring rows, which is how NCDHW lies, not neighbouring k.
// FORWARD: the convolution itself, whose filter is contiguous along c: neighbouring threads read
// neighbouring c of it.

template <class T, int ROWS, int CHANNELS, int DEPTH, int MY_ROWS, int MY_CHANNELS, bool VECTOR, bool BY_ROW, bool FORWARD>
struct Simt : SimtTile<T, ROWS, CHANNELS, DEPTH, MY_ROWS, MY_CHANNELS> {
    typedef SimtTile<T, ROWS, CHANNELS, DEPTH, MY_ROWS, MY_CHANNELS> Base;
    typedef typename Base::Sum Sum;
    typedef typename Base::Slice Slice;
    using Base::THREADS;
    using Base::ACROSS;
    static constexpr int WIDTH = VECTOR ? 16 / int(sizeof(T)) : 1;
    typedef typename Base::template Reading<ROWS, WIDTH, BY_ROW> OfData;
    typedef typename Base::template Reading<CHANNELS, FORWARD ? 1 : WIDTH, FORWARD> OfFilter;

    struct Memory {
        Row row[ROWS];
        Slice slice[2];
    };

    static __device__ __forceinline__ void run(const T* __restrict__ data, const T* __restrict__ filter,
                                               T* __restrict__ result, const Problem& problem) {
        SHARED_MEMORY(raw);
        Memory& memory = *reinterpret_cast<Memory*>(raw);
        const Tile tile(problem, ROWS, CHANNELS);
        const Phases phases(problem, tile.phase);
        if (tile.row >= phases.rows) return;
        const int thread = int(threadIdx.x);
        for (int i = thread; i < ROWS; i += THREADS)
            memory.row[i] = row_of<FORWARD>(problem, phases, tile.row + i);
        __syncthreads();

        Sum sums[MY_ROWS][MY_CHANNELS];
        Base::clear(sums);
        const int down = thread / ACROSS, across = thread % ACROSS;
        const int steps = phases.taps() * ((problem.read_channels + DEPTH - 1) / DEPTH);
        Depth depth;
        depth.start(problem, phases);
        typename OfData::Vector of_data[OfData::READS];
        typename OfFilter::Vector of_filter[OfFilter::READS];
        for (int step = 0; step <= steps; step++) {
            if (step < steps) {
                fetch(of_data, of_filter, data, filter, problem, memory, depth, tile.channel);
                depth.advance(problem, phases, DEPTH);
            }
            if (step > 0) Base::multiply(sums, memory.slice[(step - 1) % 2], down, across);
            if (step < steps) keep(memory.slice[step % 2], of_data, of_filter);
            __syncthreads();
        }
        write(result, sums, problem, memory, tile.channel, down, across);
    }

    static __device__ __forceinline__ void fetch(typename OfData::Vector* of_data,
                                                 typename OfFilter::Vector* of_filter,
                                                 const T* __restrict__ data, const T* __restrict__ filter,
                                                 const Problem& problem, const Memory& memory,
                                                 const Depth& depth, int first_channel) {
        #pragma unroll
        for (int i = 0; i < OfData::READS; i++) {
            const auto at = OfData::place(i);
            const int k = depth.channel + at.k;
            of_data[i] = {};
            if (at.inside() && k < problem.read_channels) {
                const Row& row = memory.row[at.line];
                if (depth.meets(problem, row))
                    of_data[i] = OfData::read(data + row.from + depth.from + k * problem.from_strides[4]);
            }
        }
        #pragma unroll
        for (int i = 0; i < OfFilter::READS; i++) {
            const auto at = OfFilter::place(i);
            const int k = depth.channel + at.k, c = first_channel + at.line;
            of_filter[i] = {};
            if (at.inside() && c < problem.made_channels && k < problem.read_channels)
                of_filter[i] = OfFilter::read(filter + depth.filter + c * problem.filter_strides[3]
                                              + k * problem.filter_strides[4]);
        }
    }

    static __device__ __forceinline__ void keep(Slice& slice, const typename OfData::Vector* of_data,
                                                const typename OfFilter::Vector* of_filter) {
        OfData::keep(slice.data, of_data);
        OfFilter::keep(slice.filter, of_filter);
    }

    static __device__ __forceinline__ void write(T* __restrict__ result, Sum (&sums)[MY_ROWS][MY_CHANNELS],
                                                 const Problem& problem, const Memory& memory,
                                                 int first_channel, int down, int across) {
        #pragma unroll
        for (int i = 0; i < MY_ROWS; i++) {
            const Row& row = memory.row[Base::row_in_tile(i, down)];
            if (!row.inside) continue;
            #pragma unroll
            for (int j = 0; j < MY_CHANNELS; j++) {
                const int c = first_channel + Base::channel_in_tile(j, across);
                if (c < problem.made_channels)
                    result[row.to + c * problem.to_strides[4]] = Number<T>::rounded(sums[i][j]);
            }
        }
    }
};
