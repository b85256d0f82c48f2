// The problem as every kernel sees it: phases, rows, and where they lie in memory.
//
// Idea: of the gradient with respect to the input, position z, cut as z = r + stride * j, is reached
// only by the taps t for which stride divides r + before - t * dilation, and r alone decides which
// those are. So the result falls into phases (r of depth, r of height, r of width). Within a phase,
// tap number i of an axis is
//
//     t = first_tap + i * tap_step     and reads position     gap * j + first - i * back
//
// with a gap of 1. The convolution itself is a single phase of this form: all taps reach position j,
// and the windows, a stride apart, are the gap; i steps forward by the dilation, so back is -dilation.
//
// A phase is a matrix product whose rows are the places (batch, j, j, j) and whose depth is
// (taps, read_channels). Each element of the result belongs to one phase: it is written once.
//
// The host has done the number theory (phases.py); taps that reach no place are already left out.
#pragma once

constexpr int PHASES_AT_ONCE = 32;

struct Phase {
    int positions;  // how many j there are
    int taps;       // how many taps reach any of them
    int first_tap;
    int first;      // what to add to j for the first tap
};

struct Axis {
    int read;         // positions of the side that is read
    int stride;       // how far apart neighbouring j are written
    int tap_step;     // from a tap of a phase to the next
    int back;         // how far back that reads
    int first_phase;  // the r of phases[0]
    int phases;       // how many there are in this launch
    Phase phase[PHASES_AT_ONCE];
};

// Strides count elements: batch, depth, height, width, channel of the two sides; depth, height,
// width, channel of the result, channel that is added up of the filter.
struct Problem {
    int64_t batch;
    int64_t first_tile;
    int64_t from_strides[5];
    int64_t filter_strides[5];
    int64_t to_strides[5];
    int made_channels;  // of the result
    int read_channels;  // of what is read and added up
    int wide;  // whether channels of the result can be written 16 bytes at a time
    Axis axis[3];
    int gap[3];  // how far apart neighbouring j read

    __device__ int phases() const { return axis[0].phases * axis[1].phases * axis[2].phases; }
};

// One phase of each axis.
struct Phases {
    const Phase* of[3];
    int remainder[3];
    int64_t rows;

    __device__ Phases(const Problem& problem, int number) {
        rows = problem.batch;
        for (int d = 2; d >= 0; d--) {
            const Axis& axis = problem.axis[d];
            const int which = number % axis.phases;
            number /= axis.phases;
            of[d] = &axis.phase[which];
            remainder[d] = axis.first_phase + which;
            rows *= of[d]->positions;
        }
    }

    __device__ int taps() const { return of[0]->taps * of[1]->taps * of[2]->taps; }
};

// One row of the product: where its data starts, where its result goes.
struct Row {
    int64_t from;  // of position (at, at, at); may lie outside, taps bring it inside
    int64_t to;
    int at[3];     // gap * j
    int inside;    // whether there is such a row
};

// Divides in 32 bits where that is enough: 64 bits cost a GPU about ten times as much.
__device__ __forceinline__ int divide(int64_t& value, int by) {
    int rest;
    if (value < (int64_t(1) << 31)) {
        const unsigned small = unsigned(value);
        value = small / unsigned(by);
        rest = int(small % unsigned(by));
    } else {
        rest = int(value % by);
        value /= by;
    }
    return rest;
}

// FORWARD: the gap may be other than 1. The other kernels are spared the factor.
template <bool FORWARD>
__device__ __forceinline__ Row row_of(const Problem& problem, const Phases& phases, int64_t m) {
    Row row;
    row.inside = m < phases.rows;
    row.from = row.to = 0;
    int64_t rest = row.inside ? m : 0;
    for (int d = 2; d >= 0; d--) {
        const int j = divide(rest, phases.of[d]->positions);
        row.at[d] = FORWARD ? j * problem.gap[d] : j;
        row.from += row.at[d] * problem.from_strides[d + 1];
        row.to += (phases.remainder[d] + int64_t(problem.axis[d].stride) * j)
                  * problem.to_strides[d + 1];
    }
    row.from += rest * problem.from_strides[0];
    row.to += rest * problem.to_strides[0];
    return row;
}

// Walks the depth of the product: tap after tap, and in each the channels in steps.
struct Depth {
    int tap[3];    // number i of each axis
    int shift[3];  // what it adds to a row's place
    int channel;
    int64_t from;    // what the taps add to a row's place in the data
    int64_t filter;  // where the taps lie in the filter

    __device__ void start(const Problem& problem, const Phases& phases) {
        tap[0] = tap[1] = tap[2] = channel = 0;
        locate(problem, phases);
    }

    __device__ void advance(const Problem& problem, const Phases& phases, int step) {
        channel += step;
        if (channel < problem.read_channels) return;
        channel = 0;
        for (int d = 2; d >= 0; d--) {
            if (++tap[d] < phases.of[d]->taps) break;
            tap[d] = 0;
        }
        locate(problem, phases);
    }

    __device__ void locate(const Problem& problem, const Phases& phases) {
        from = filter = 0;
        for (int d = 0; d < 3; d++) {
            const Axis& axis = problem.axis[d];
            shift[d] = int(unsigned(phases.of[d]->first) - unsigned(tap[d]) * unsigned(axis.back));
            from += shift[d] * problem.from_strides[d + 1];
            filter += (phases.of[d]->first_tap + int64_t(tap[d]) * axis.tap_step)
                      * problem.filter_strides[d];
        }
    }

    // Whether the taps find data for this row. Sums below 0 wrap to far above any size.
    __device__ bool meets(const Problem& problem, const Row& row) const {
        return row.inside && unsigned(row.at[0]) + unsigned(shift[0]) < unsigned(problem.axis[0].read)
               && unsigned(row.at[1]) + unsigned(shift[1]) < unsigned(problem.axis[1].read)
               && unsigned(row.at[2]) + unsigned(shift[2]) < unsigned(problem.axis[2].read);
    }
};

// Which tile of the product a block makes. Channels go fastest and phases next: blocks that run at
// the same time read the same data.
struct Tile {
    int64_t row;
    int channel;
    int phase;

    __device__ Tile(const Problem& problem, int rows, int channels) {
        int64_t rest = problem.first_tile + blockIdx.x;
        channel = divide(rest, (problem.made_channels + channels - 1) / channels) * channels;
        phase = divide(rest, problem.phases());
        row = rest * rows;
    }
};
