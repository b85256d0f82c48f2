// A tile of a matrix product on CUDA cores, whatever its operands are: `data` has a line for each row
// of the tile, `filter` one for each of its channels, and along a line goes the depth k.
//
// Threads bring slices of DEPTH k into shared memory, already as numbers of the sum's type, and each
// thread keeps a small rectangle of sums in registers. The rectangle is made of groups of GROUP rows
// and GROUP channels, spread over the tile, so that neighbouring threads read neighbouring words.
#pragma once

template <class T, int ROWS, int CHANNELS, int DEPTH, int MY_ROWS, int MY_CHANNELS>
struct SimtTile {
    typedef typename Number<T>::Sum Sum;
    static constexpr int ACROSS = CHANNELS / MY_CHANNELS;
    static constexpr int THREADS = ROWS / MY_ROWS * ACROSS;
    static constexpr int ROW_GROUP = MY_ROWS < 4 ? MY_ROWS : 4;
    static constexpr int CHANNEL_GROUP = MY_CHANNELS < 4 ? MY_CHANNELS : 4;

    // Padded so that the writes of a column of k spread over the banks.
    struct Slice {
        Sum data[DEPTH][ROWS + 4];
        Sum filter[DEPTH][CHANNELS + 4];
    };

    // How the threads bring a slice of one operand: WIDTH elements at once, which lie along the lines'
    // k or, if BY_LINE, from line to line.
    template <int LINES, int WIDTH, bool BY_LINE> struct Reading {
        static constexpr int READS = (LINES * DEPTH / WIDTH + THREADS - 1) / THREADS;

        struct __align__(16) Vector { T value[WIDTH]; };
        struct Place {
            int line, k;
            __device__ bool inside() const { return line < LINES && k < DEPTH; }
        };

        // Which line and which k a thread brings as its read number `number`.
        static __device__ __forceinline__ Place place(int number) {
            const int index = number * THREADS + int(threadIdx.x);
            constexpr int ACROSS_LINES = LINES / WIDTH, STEPS = DEPTH / WIDTH;
            return BY_LINE ? Place{index % ACROSS_LINES * WIDTH, index / ACROSS_LINES}
                           : Place{index / STEPS, index % STEPS * WIDTH};
        }

        static __device__ __forceinline__ Vector read(const T* from) {
            if (WIDTH > 1) return *reinterpret_cast<const Vector*>(from);
            Vector one;
            one.value[0] = *from;
            return one;
        }

        static __device__ __forceinline__ void keep(Sum (&slice)[DEPTH][LINES + 4], const Vector* brought) {
            #pragma unroll
            for (int i = 0; i < READS; i++) {
                const Place at = place(i);
                if (at.inside())
                    #pragma unroll
                    for (int v = 0; v < WIDTH; v++)
                        slice[at.k + (BY_LINE ? 0 : v)][at.line + (BY_LINE ? v : 0)] =
                            Number<T>::wide(brought[i].value[v]);
            }
        }
    };

    // Row number i of a thread, and channel number j, in the tile.
    static __device__ __forceinline__ int row_in_tile(int i, int down) {
        return i / ROW_GROUP * (ROWS / MY_ROWS * ROW_GROUP) + down * ROW_GROUP + i % ROW_GROUP;
    }

    static __device__ __forceinline__ int channel_in_tile(int j, int across) {
        return j / CHANNEL_GROUP * (ACROSS * CHANNEL_GROUP) + across * CHANNEL_GROUP + j % CHANNEL_GROUP;
    }

    static __device__ __forceinline__ void clear(Sum (&sums)[MY_ROWS][MY_CHANNELS]) {
        #pragma unroll
        for (int i = 0; i < MY_ROWS; i++)
            #pragma unroll
            for (int j = 0; j < MY_CHANNELS; j++) sums[i][j] = 0;
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
};
