// Bucket sums: bucket[b] = sum of the signed points of its entries.
//
// The sorted entries of a window are cut into equal chunks, one a thread, whatever the buckets'
// sizes, so that zeros, repeats and ramps cost the same as uniform scalars. The thread in whose
// chunk a bucket ends writes that bucket; what a chunk holds of a bucket that goes on is a carry.
// Carries are in bucket order and are added afterwards, by the same rule, in rounds of equal groups.

static const uint32_t NO_BUCKET = 0xffffffffu;

// One batch of windows; `y` in a shape is the window within it.
template <class F> struct Accumulation {
    // [y][bucket_stride], identities on entry.
    Xyzz<F>* buckets;
    // [y][threads].
    Xyzz<F>* carries;
    uint32_t* carry_buckets;
    // [n], signs apart; without `sorted` [y][point_stride], in bucket order.
    const Affine<F>* points;
    // [y][n], entries in bucket order, or null.
    const uint32_t* sorted;
    // [y][bucket_stride + 1].
    const uint32_t* starts;
    uint32_t n, bucket_stride, threads, chunk, point_stride;
    MsmWindows windows;
    uint32_t first_window;
};

// The next point of each thread, on its way from memory while the current one is added: in shared
// memory, by asynchronous copies, so that it takes no registers. Two slots alternate.
template <class F> struct PointQueue {
    static const uint32_t QUADS = sizeof(Affine<F>) / 16;
    uint4 slots[2][QUADS][ACCUMULATE_THREADS];

    DEVICE_METHOD void request(uint32_t slot, const Affine<F>* point) {
        const uint4* source = reinterpret_cast<const uint4*>(point);
        UNROLL
        for (uint32_t i = 0; i < QUADS; i++) {
            uint32_t target = static_cast<uint32_t>(
                __cvta_generic_to_shared(&slots[slot][i][threadIdx.x]));
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(target),
                         "l"(source + i)
                         : "memory");
        }
    }

    DEVICE_METHOD Affine<F> receive(uint32_t slot) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        Affine<F> point;
        uint32_t* words = reinterpret_cast<uint32_t*>(&point);
        UNROLL
        for (uint32_t i = 0; i < QUADS; i++) {
            uint4 quad = slots[slot][i][threadIdx.x];
            words[4 * i] = quad.x;
            words[4 * i + 1] = quad.y;
            words[4 * i + 2] = quad.z;
            words[4 * i + 3] = quad.w;
        }
        return point;
    }
};

// Where a thread's points are, and their signs.
template <class F> struct EntrySource {
    const Affine<F>* points;
    const uint32_t* sorted;

    DEVICE_METHOD uint32_t entry(uint32_t position) const {
        return sorted ? sorted[position] : position;
    }
};

template <class F>
DEVICE void accumulate_chunk(const Accumulation<F>& task, PointQueue<F>& queue) {
    uint32_t thread = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    if (thread >= task.threads) return;
    size_t window = blockIdx.y;
    const uint32_t* starts = task.starts + window * (task.bucket_stride + 1);
    EntrySource<F> source = {task.points, task.sorted};
    if (task.sorted) {
        source.sorted += window * task.n;
    } else {
        source.points += window * task.point_stride;
    }
    uint32_t bucket_count =
        1u << (window_width(task.windows, task.first_window + blockIdx.y) - 1);
    uint32_t total = starts[bucket_count];
    uint64_t first = static_cast<uint64_t>(thread) * task.chunk;
    uint32_t bucket = NO_BUCKET;
    Xyzz<F> acc = xyzz_identity<F>();
    if (first < total) {
        uint32_t position = static_cast<uint32_t>(first);
        uint32_t end = total - position < task.chunk ? total : position + task.chunk;
        bucket = find_bucket(starts, bucket_count, position);
        uint32_t bucket_end = starts[bucket + 1];
        uint32_t entry = source.entry(position);
        queue.request(position & 1, source.points + (entry & ~DIGIT_SIGN));
        NO_UNROLL
        while (position < end) {
            Affine<F> point = queue.receive(position & 1);
            negate_if(point, (entry & DIGIT_SIGN) != 0);
            position++;
            if (position < end) {
                entry = source.entry(position);
                queue.request(position & 1, source.points + (entry & ~DIGIT_SIGN));
            }
            add_affine(acc, point);
            if (position == bucket_end) {
                task.buckets[window * task.bucket_stride + bucket] = acc;
                acc = xyzz_identity<F>();
                while (position < end && bucket_end == position) bucket_end = starts[++bucket + 1];
            }
        }
    }
    task.carry_buckets[window * task.threads + thread] = is_identity(acc) ? NO_BUCKET : bucket;
    task.carries[window * task.threads + thread] = acc;
}

// **Computes** the sums of the buckets that end in each chunk, and the chunks' carries.
// **Shapes** as in `Accumulation`; a thread's carry belongs to one bucket, or is none.
// **Launch** grid (threads / ACCUMULATE_THREADS rounded up, windows), threads * chunk at least the entries.
// **Cost** one mixed addition an entry: for G1 2,652 wide multiply-adds and 108 pairs of halves, 140
// bytes read with the sectors; 2.77 G additions/s on an H200 at 2^27.
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS, ACCUMULATE_MIN_BLOCKS)
    msm_accumulate_g1(const __grid_constant__ Accumulation<Fp> task) {
    __shared__ PointQueue<Fp> queue;
    accumulate_chunk(task, queue);
}

extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    msm_accumulate_g2(const __grid_constant__ Accumulation<Fp2> task) {
    __shared__ PointQueue<Fp2> queue;
    accumulate_chunk(task, queue);
}

template <class F>
DEVICE void fold_group(Xyzz<F>* buckets, Xyzz<F>* out, uint32_t* out_buckets, const Xyzz<F>* in,
                       const uint32_t* in_buckets, uint32_t count, uint32_t group, bool last) {
    uint32_t thread = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    uint32_t first = thread * group;
    if (first >= count) return;
    uint32_t end = count - first < group ? count : first + group;
    uint32_t current = NO_BUCKET;
    Xyzz<F> acc = xyzz_identity<F>();
    NO_UNROLL
    for (uint32_t i = first; i <= end; i++) {
        uint32_t bucket = i < end ? in_buckets[i] : NO_BUCKET;
        if (i < end && bucket == NO_BUCKET) continue;
        bool flush = i < end ? bucket != current : last;
        if (flush && current != NO_BUCKET) {
            add_xyzz_call(acc, buckets[current]);
            buckets[current] = acc;
            acc = xyzz_identity<F>();
            if (i == end) current = NO_BUCKET;
        }
        if (i < end) {
            current = bucket;
            add_xyzz_call(acc, in[i]);
        }
    }
    out_buckets[thread] = current;
    out[thread] = acc;
}

// **Computes** one round over the carries: what ends inside a group is added to its bucket, what
// may go on is passed to the next round; the `last` round adds everything.
// **Shapes** in, in_buckets: [window][count]; out, out_buckets: [window][ceil(count / group)];
// buckets: [window][bucket_stride].
// **Launch** grid (ceil(count / group) / ACCUMULATE_THREADS, windows).
// **Requires** in and out disjoint; count <= group in the last round.
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    msm_fold_carries_g1(Xyzz<Fp>* buckets, Xyzz<Fp>* out, uint32_t* out_buckets,
                        const Xyzz<Fp>* in, const uint32_t* in_buckets, uint32_t bucket_stride,
                        uint32_t count, uint32_t group, uint32_t last) {
    size_t window = blockIdx.y, out_count = (count + group - 1) / group;
    fold_group(buckets + window * bucket_stride, out + window * out_count,
               out_buckets + window * out_count, in + window * count, in_buckets + window * count,
               count, group, last != 0);
}

extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    msm_fold_carries_g2(Xyzz<Fp2>* buckets, Xyzz<Fp2>* out, uint32_t* out_buckets,
                        const Xyzz<Fp2>* in, const uint32_t* in_buckets, uint32_t bucket_stride,
                        uint32_t count, uint32_t group, uint32_t last) {
    size_t window = blockIdx.y, out_count = (count + group - 1) / group;
    fold_group(buckets + window * bucket_stride, out + window * out_count,
               out_buckets + window * out_count, in + window * count, in_buckets + window * count,
               count, group, last != 0);
}
