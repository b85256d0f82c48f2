// Conv3DBackpropInputV2 on CUDA cores: for float64, float32 without TF32, and few channels.
//
// Idea: each phase (problem.cuh) is a matrix product
//
//     result[row, c] = sum over (tap, k) of out_backprop[row's place at tap, k] * filter[tap, c, k]
//
// A block makes ROWS x CHANNELS of it. It steps through the depth DEPTH channels k at a time: all
// threads bring a slice of both operands into shared memory, already as numbers of the sum's type,
// while each thread keeps a small rectangle of sums in registers. There are two slices, so the next
// one is read from memory while this one is used, and one barrier a step is enough.
//
// A thread's rectangle is made of groups of GROUP rows and GROUP channels, spread over the tile, so
// that neighbouring threads read neighbouring words of shared memory.
//
// VECTOR: the channels k of both operands are contiguous and 16 bytes of them are read at once.
// BY_ROW: neighbouring threads read neighbouring rows, which is how NCDHW lies, not neighbouring k.

template <class T, int ROWS, int CHANNELS, int DEPTH, int MY_ROWS, int MY_CHANNELS, bool VECTOR, bool BY_ROW>
struct Simt {
    typedef typename Number<T>::Sum Sum;
    static constexpr int ACROSS = CHANNELS / MY_CHANNELS;
    static constexpr int THREADS = ROWS / MY_ROWS * ACROSS;
    static constexpr int WIDTH = VECTOR ? 16 / int(sizeof(T)) : 1;
    static constexpr int READS_OF_DATA = (ROWS * DEPTH / WIDTH + THREADS - 1) / THREADS;
    static constexpr int READS_OF_FILTER = (CHANNELS * DEPTH / WIDTH + THREADS - 1) / THREADS;
    static constexpr int ROW_GROUP = MY_ROWS < 4 ? MY_ROWS : 4;
    static constexpr int CHANNEL_GROUP = MY_CHANNELS < 4 ? MY_CHANNELS : 4;

    struct __align__(16) Vector { T value[WIDTH]; };

    // Padded so that the writes of a column of k spread over the banks.
    struct Slice {
        Sum data[DEPTH][ROWS + 4];
        Sum filter[DEPTH][CHANNELS + 4];
    };

    struct Memory {
        Row row[ROWS];
        Slice slice[2];
    };

    struct Read { int line, k; };

    // Which row or channel of a slice, and which k, a thread brings as its read number `number`.
    static __device__ __forceinline__ Read place(int number, int lines, bool by_line) {
        const int index = number * THREADS + int(threadIdx.x);
        const int steps = DEPTH / WIDTH;
        return by_line ? Read{index % lines, index / lines * WIDTH}
                       : Read{index / steps, index % steps * WIDTH};
    }

    static __device__ __forceinline__ Vector read(const T* from) {
        if (VECTOR) return *reinterpret_cast<const Vector*>(from);
        Vector one;
        one.value[0] = *from;
        return one;
    }

    static __device__ __forceinline__ void run(const T* __restrict__ data, const T* __restrict__ filter,
                                               T* __restrict__ result, const Problem& problem) {
        SHARED_MEMORY(raw);
        Memory& memory = *reinterpret_cast<Memory*>(raw);
        const Tile tile(problem, ROWS, CHANNELS);
        const Phases phases(problem, tile.phase);
        if (tile.row >= phases.rows) return;
        const int thread = int(threadIdx.x);
        for (int i = thread; i < ROWS; i += THREADS) memory.row[i] = row_of(problem, phases, tile.row + i);
        __syncthreads();

        Sum sums[MY_ROWS][MY_CHANNELS];
        #pragma unroll
        for (int i = 0; i < MY_ROWS; i++)
            #pragma unroll
            for (int j = 0; j < MY_CHANNELS; j++) sums[i][j] = 0;

        const int down = thread / ACROSS, across = thread % ACROSS;
        const int steps = phases.taps() * ((problem.out_channels + DEPTH - 1) / DEPTH);
        Depth depth;
        depth.start(problem, phases);
        Vector of_data[READS_OF_DATA], of_filter[READS_OF_FILTER];
        for (int step = 0; step <= steps; step++) {
            if (step < steps) {
                fetch(of_data, of_filter, data, filter, problem, memory, depth, tile.channel);
                depth.advance(problem, phases, DEPTH);
            }
            if (step > 0) multiply(sums, memory.slice[(step - 1) % 2], down, across);
            if (step < steps) keep(memory.slice[step % 2], of_data, of_filter);
            __syncthreads();
        }
        write(result, sums, problem, memory, tile.channel, down, across);
    }

    static __device__ __forceinline__ void fetch(Vector* of_data, Vector* of_filter,
                                                 const T* __restrict__ data, const T* __restrict__ filter,
                                                 const Problem& problem, const Memory& memory,
                                                 const Depth& depth, int first_channel) {
        #pragma unroll
        for (int i = 0; i < READS_OF_DATA; i++) {
            const Read at = place(i, ROWS, BY_ROW);
            const int k = depth.channel + at.k;
            of_data[i] = Vector{};
            if (at.line < ROWS && at.k < DEPTH && k < problem.out_channels) {
                const Row& row = memory.row[at.line];
                if (depth.meets(problem, row))
                    of_data[i] = read(data + row.from + depth.from + k * problem.from_strides[4]);
            }
        }
        #pragma unroll
        for (int i = 0; i < READS_OF_FILTER; i++) {
            const Read at = place(i, CHANNELS, false);
            const int k = depth.channel + at.k, c = first_channel + at.line;
            of_filter[i] = Vector{};
            if (at.line < CHANNELS && c < problem.in_channels && k < problem.out_channels)
                of_filter[i] = read(filter + depth.filter + c * problem.filter_strides[3]
                                    + k * problem.filter_strides[4]);
        }
    }

    static __device__ __forceinline__ void keep(Slice& slice, const Vector* of_data, const Vector* of_filter) {
        #pragma unroll
        for (int i = 0; i < READS_OF_DATA; i++) {
            const Read at = place(i, ROWS, BY_ROW);
            if (at.line < ROWS && at.k < DEPTH)
                #pragma unroll
                for (int v = 0; v < WIDTH; v++)
                    slice.data[at.k + v][at.line] = Number<T>::wide(of_data[i].value[v]);
        }
        #pragma unroll
        for (int i = 0; i < READS_OF_FILTER; i++) {
            const Read at = place(i, CHANNELS, false);
            if (at.line < CHANNELS)
                #pragma unroll
                for (int v = 0; v < WIDTH; v++)
                    slice.filter[at.k + v][at.line] = Number<T>::wide(of_filter[i].value[v]);
        }
    }

    // Row number i of a thread, and channel number j, in the tile.
    static __device__ __forceinline__ int row_in_tile(int i, int down) {
        return i / ROW_GROUP * (ROWS / MY_ROWS * ROW_GROUP) + down * ROW_GROUP + i % ROW_GROUP;
    }

    static __device__ __forceinline__ int channel_in_tile(int j, int across) {
        return j / CHANNEL_GROUP * (ACROSS * CHANNEL_GROUP) + across * CHANNEL_GROUP + j % CHANNEL_GROUP;
    }

    static __device__ __forceinline__ void multiply(Sum (&sums)[MY_ROWS][MY_CHANNELS], const Slice& slice,
                                                    int down, int across) {
        #pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            Sum left[MY_ROWS], right[MY_CHANNELS];
            #pragma unroll
            for (int i = 0; i < MY_ROWS; i++) left[i] = slice.data[k][row_in_tile(i, down)];
            #pragma unroll
            for (int j = 0; j < MY_CHANNELS; j++) right[j] = slice.filter[k][channel_in_tile(j, across)];
            #pragma unroll
            for (int i = 0; i < MY_ROWS; i++)
                #pragma unroll
                for (int j = 0; j < MY_CHANNELS; j++) sums[i][j] += left[i] * right[j];
        }
    }

    static __device__ __forceinline__ void write(T* __restrict__ result, Sum (&sums)[MY_ROWS][MY_CHANNELS],
                                                 const Problem& problem, const Memory& memory,
                                                 int first_channel, int down, int across) {
        #pragma unroll
        for (int i = 0; i < MY_ROWS; i++) {
            const Row& row = memory.row[row_in_tile(i, down)];
            if (!row.inside) continue;
            #pragma unroll
            for (int j = 0; j < MY_CHANNELS; j++) {
                const int c = first_channel + channel_in_tile(j, across);
                if (c < problem.in_channels)
                    result[row.to + c * problem.to_strides[4]] = Number<T>::rounded(sums[i][j]);
            }
        }
    }
};
