/*
 * A stand-in for NVIDIA's libcuda.so.1 that runs the kernels of `gpulse check` on the processor, implemented independently of their PTX.
 * It is built by the tests and must never be installed. Its script is the file `script` in the library's folder (see script.h):
 *   NAME.rc CODE [FROM]   the call NAME (without cu, such as MemAlloc_v2) returns this code, from its FROM-th call on
 *   NAME.hang [FROM]      the call does not return
 *   NAME.crash [FROM]     the call writes to address 0
 *   capability NN, sms N, memory BYTES, log TEXT (the compiler's output)
 *   reject TEXT           a module whose text contains TEXT does not compile
 *   flip.memory WORD BIT  one bit of the tested memory flips between writing and reading
 *   flip.tensor BLOCK BIT, flip.fp32 BLOCK BIT, flip.products BLOCK BIT   one thread of this block computes one wrong bit
 *   slow RATIO            everything takes RATIO times as long
 * Time is simulated: each copy and kernel advances the GPU's clock, which events record.
 */
#include "script.h"

enum { OUT_OF_MEMORY = 2, INVALID_PTX = 218, NOT_FOUND = 500 };
enum { FILL = 1, VERIFY, INTEGER, FP32, TENSOR, TENSOR_PRODUCTS };

static const char *functions[] = {"", "fill_pattern", "verify_pattern", "integer_products", "fp32_rate", "tensor_rate", "tensor_products"};
static double clock_ms;
static struct { char name[40]; int count; } counted[64];
static struct { void *at; size_t bytes; } allocated[4096];
static size_t used;
static int live;

static int count_call(const char *name) {
  for (int at = 0; at < 64; at++) {
    if (!counted[at].name[0]) snprintf(counted[at].name, sizeof counted[at].name, "%s", name);
    if (!strcmp(counted[at].name, name)) return ++counted[at].count;
  }
  return 0;
}

static int applies(const char *name, const char *end, int call, int *code) {
  char key[64];
  snprintf(key, sizeof key, "%s.%s", name, end);
  int at = find(key);
  if (at < 0) return 0;
  int value = 1, from = 1;
  if (code) { sscanf(line[at].text, "%d %d", &value, &from); *code = value; }
  else sscanf(line[at].text, "%d", &from);
  return call >= from;
}

/* The start of every call: logs it and applies the script's hang, crash and return code. */
static int enter(const char *name) {
  refresh();
  note(0, name);
  int call = count_call(name), code = 0;
  while (applies(name, "hang", call, 0)) { usleep(20000); refresh(); }
  if (applies(name, "crash", call, 0)) *(volatile int *)0 = 1;
  return applies(name, "rc", call, &code) ? code : 0;
}
#define ENTER(name) do { int rc = enter(name); if (rc) return rc; } while (0)

static double setting(const char *name, double otherwise) { int at = find(name); return at < 0 ? otherwise : line[at].value; }
static double slow(void) { return setting("slow", 1); }
static int flip_of(const char *what, unsigned long *first, int *bit) {
  char key[40];
  snprintf(key, sizeof key, "flip.%s", what);
  int at = find(key);
  return at >= 0 && sscanf(line[at].text, "%lu %d", first, bit) == 2;
}

int cuInit(unsigned flags) { (void)flags; ENTER("Init"); return 0; }
int cuDriverGetVersion(int *out) { *out = 13000; return 0; }
int cuDeviceGetCount(int *out) { ENTER("DeviceGetCount"); *out = (int)setting("gpus", 1); return 0; }
int cuDeviceGet(int *out, unsigned index) { ENTER("DeviceGet"); *out = (int)index; return 0; }
int cuDeviceGetUuid_v2(unsigned char *out, unsigned device) {
  ENTER("DeviceGetUuid_v2");
  memset(out, 0, 16);
  out[3] = (unsigned char)device;
  out[6] = 0x40;
  out[8] = 0x80;
  return 0;
}
int cuDeviceGetAttribute(int *out, unsigned which, unsigned device) {
  (void)device;
  ENTER("DeviceGetAttribute");
  int capability = (int)setting("capability", 90);
  switch (which) {
    case 13: *out = 1980000; break;
    case 16: *out = (int)setting("sms", 4); break;
    case 36: *out = 3201000; break;
    case 37: *out = 6144; break;
    case 75: *out = capability / 10; break;
    case 76: *out = capability % 10; break;
    default: *out = 0;
  }
  return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(unsigned device, unsigned flags) { (void)device; (void)flags; return 0; }
int cuDevicePrimaryCtxRetain(uint64_t *out, unsigned device) { (void)device; ENTER("DevicePrimaryCtxRetain"); *out = 0x77; return 0; }
int cuDevicePrimaryCtxRelease_v2(unsigned device) {
  (void)device;
  char left[32];
  snprintf(left, sizeof left, "live=%d", live);
  note(0, left);
  ENTER("DevicePrimaryCtxRelease_v2");
  return 0;
}
int cuCtxSetCurrent(uint64_t context) { (void)context; ENTER("CtxSetCurrent"); return 0; }

/*
 * A module's handle encodes the instruction of its tensor kernel; a function's handle encodes the kernel's number and that instruction.
 */
int cuModuleLoadDataEx(uint64_t *out, const char *image, unsigned count, int *options, uint64_t *values) {
  int rc = enter("ModuleLoadDataEx");
  int reject = find("reject");
  if (!rc && reject >= 0 && strstr(image, line[reject].text)) rc = INVALID_PTX;
  if (rc) {
    int log = find("log");
    for (unsigned at = 0; at < count; at++)
      if (options[at] == 5 && log >= 0) strcpy((char *)(uintptr_t)values[at], line[log].text);
    return rc;
  }
  if (!strstr(image, ".version") || !strstr(image, ".visible .entry")) return INVALID_PTX;
  *out = strstr(image, "sm_90a") ? 0x200 : 0x100;
  live++;
  return 0;
}
int cuModuleUnload(uint64_t module) { (void)module; live--; return 0; }
int cuModuleGetFunction(uint64_t *out, uint64_t module, const char *name) {
  ENTER("ModuleGetFunction");
  for (unsigned at = FILL; at <= TENSOR_PRODUCTS; at++)
    if (!strcmp(functions[at], name)) { *out = module + at; return 0; }
  return NOT_FOUND;
}

static size_t total(void) { return (size_t)setting("memory", 256 << 20); }
int cuMemGetInfo_v2(uint64_t *free_bytes, uint64_t *all) {
  ENTER("MemGetInfo_v2");
  size_t taken = used + (size_t)setting("taken", 0);
  *free_bytes = total() > taken ? total() - taken : 0;
  *all = total();
  return 0;
}
static int take(uint64_t *out, size_t bytes, int is_device) {
  if (is_device && used + bytes > total()) return OUT_OF_MEMORY;
  for (int at = 0; at < 4096; at++) {
    if (allocated[at].at) continue;
    allocated[at].at = malloc(bytes);
    allocated[at].bytes = is_device ? bytes : 0;
    if (!allocated[at].at) return OUT_OF_MEMORY;
    used += allocated[at].bytes;
    live++;
    *out = (uint64_t)(uintptr_t)allocated[at].at;
    return 0;
  }
  return OUT_OF_MEMORY;
}
static int give(uint64_t address) {
  for (int at = 0; at < 4096; at++) {
    if ((uint64_t)(uintptr_t)allocated[at].at != address) continue;
    free(allocated[at].at);
    used -= allocated[at].bytes;
    allocated[at].at = 0;
    live--;
    return 0;
  }
  return 1;
}
int cuMemAlloc_v2(uint64_t *out, uint64_t bytes) { ENTER("MemAlloc_v2"); return take(out, bytes, 1); }
int cuMemFree_v2(uint64_t address) { ENTER("MemFree_v2"); return give(address); }
int cuMemAllocHost_v2(uint64_t *out, uint64_t bytes) { ENTER("MemAllocHost_v2"); return take(out, bytes, 0); }
int cuMemFreeHost(uint64_t address) { ENTER("MemFreeHost"); return give(address); }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, uint64_t bytes) { ENTER("MemcpyHtoD_v2"); memcpy((void *)(uintptr_t)to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, uint64_t bytes) { ENTER("MemcpyDtoH_v2"); memcpy(to, (void *)(uintptr_t)from, bytes); return 0; }
/* 4 TB/s within the device, with bytes counted twice; 50 GB/s on the link. */
int cuMemcpyHtoDAsync_v2(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream) { (void)to; (void)from; (void)stream; ENTER("MemcpyHtoDAsync_v2"); clock_ms += bytes / 50e6 * slow(); return 0; }
int cuMemcpyDtoHAsync_v2(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream) { (void)to; (void)from; (void)stream; ENTER("MemcpyDtoHAsync_v2"); clock_ms += bytes / 50e6 * slow(); return 0; }
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream) { (void)to; (void)from; (void)stream; ENTER("MemcpyDtoDAsync_v2"); clock_ms += 2 * bytes / 4e9 * slow(); return 0; }

int cuEventCreate(uint64_t *out, unsigned flags) { (void)flags; ENTER("EventCreate"); *out = (uint64_t)(uintptr_t)calloc(1, sizeof(double)); live++; return 0; }
int cuEventDestroy_v2(uint64_t event) { free((void *)(uintptr_t)event); live--; return 0; }
int cuEventRecord(uint64_t event, uint64_t stream) { (void)stream; ENTER("EventRecord"); *(double *)(uintptr_t)event = clock_ms; return 0; }
int cuEventSynchronize(uint64_t event) { (void)event; usleep(2000); ENTER("EventSynchronize"); return 0; }
int cuEventElapsedTime(float *out, uint64_t from, uint64_t to) { ENTER("EventElapsedTime"); *out = (float)(*(double *)(uintptr_t)to - *(double *)(uintptr_t)from); return 0; }

static uint64_t pattern(uint64_t index, uint64_t mask, uint64_t constant) {
  uint64_t x = (index + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ull;
  x ^= x >> 32;
  return (x & mask) ^ constant;
}
static void report(uint64_t *findings, uint64_t place, uint64_t bits) {
  findings[0]++;
  if (place < findings[1]) findings[1] = place;
  findings[2] |= bits;
}
static uint32_t digest_of(uint32_t digest, uint32_t word) { return (digest ^ word) * 16777619u; }
static uint32_t next_of(uint32_t x) { return x * 1664525u + 1013904223u; }

/* One thread of integer_products; `mask` is flipped in at `step`, if any. */
static uint32_t integer_digest(uint32_t seed, uint32_t thread, uint32_t iterations, uint32_t step, uint32_t mask) {
  uint32_t x = (thread + 1) * 2654435761u + seed, digest = 2166136261u;
  for (uint32_t at = 0; at < iterations; at++) {
    x = next_of(x);
    if (at == step) x ^= mask;
    digest = digest_of(digest_of(digest, x), (uint32_t)(((uint64_t)x * 2246822519u) >> 32));
  }
  return digest;
}

/* One warp of tensor_products, in floating point as on the GPU. */
static void tensor_digests(uint32_t seed, uint32_t warp, uint32_t iterations, uint32_t lane_of, uint32_t step, uint32_t mask, uint32_t *out) {
  uint32_t state[32];
  float a[16][16], b[16][8], c[16][8];
  for (int lane = 0; lane < 32; lane++) { state[lane] = (warp * 32 + lane + 1) * 2654435761u + seed; out[lane] = 2166136261u; }
  for (int row = 0; row < 16; row++) for (int column = 0; column < 8; column++) c[row][column] = 6291456.0f;
  for (uint32_t at = 0; at < iterations; at++) {
    for (int lane = 0; lane < 32; lane++) {
      float pair[6][2];
      int group = lane / 4, of = lane % 4;
      for (int reg = 0; reg < 6; reg++) {
        state[lane] = next_of(state[lane]);
        pair[reg][0] = (float)((int)(state[lane] >> 8 & 15) - 8);
        pair[reg][1] = (float)((int)(state[lane] >> 20 & 15) - 8);
      }
      for (int half = 0; half < 2; half++) {
        a[group][of * 2 + half] = pair[0][half];
        a[group + 8][of * 2 + half] = pair[1][half];
        a[group][of * 2 + 8 + half] = pair[2][half];
        a[group + 8][of * 2 + 8 + half] = pair[3][half];
        b[of * 2 + half][group] = pair[4][half];
        b[of * 2 + 8 + half][group] = pair[5][half];
      }
    }
    for (int row = 0; row < 16; row++)
      for (int column = 0; column < 8; column++)
        for (int k = 0; k < 16; k++) c[row][column] += a[row][k] * b[k][column];
    if (at == step) {
      uint32_t bits;
      memcpy(&bits, &c[lane_of / 4][lane_of % 4 * 2], 4);
      bits ^= mask;
      memcpy(&c[lane_of / 4][lane_of % 4 * 2], &bits, 4);
    }
    for (int lane = 0; lane < 32; lane++)
      for (int part = 0; part < 4; part++) {
        uint32_t bits;
        memcpy(&bits, &c[lane / 4 + part / 2 * 8][lane % 4 * 2 + part % 2], 4);
        out[lane] = digest_of(out[lane], bits);
      }
  }
}

static uint32_t product_digest(int kernel, uint32_t seed, uint32_t thread, uint32_t iterations, uint32_t step, uint32_t mask) {
  uint32_t lanes[32];
  if (kernel == INTEGER) return integer_digest(seed, thread, iterations, step, mask);
  tensor_digests(seed, thread / 32, iterations, thread % 32, step, mask, lanes);
  return lanes[thread % 32];
}

/* All blocks compute the same, so one is computed, and the thread with the flipped bit once more. */
static void products(int kernel, uint64_t *p, unsigned blocks, unsigned threads) {
  const uint32_t *expected = (uint32_t *)(uintptr_t)p[0];
  uint64_t *findings = (uint64_t *)(uintptr_t)p[1];
  uint32_t repeats = (uint32_t)p[2], iterations = (uint32_t)p[3], seed = (uint32_t)p[4];
  unsigned sms = (unsigned)setting("sms", 4);
  for (unsigned block = 0; block < blocks; block++) ((uint32_t *)findings)[8 + (block % sms) / 32] |= 1u << (block % sms) % 32;
  uint32_t flip_block = (uint32_t)p[5], flip_thread = (uint32_t)p[6], flip_step = (uint32_t)p[7], mask = (uint32_t)p[8];
  unsigned long fault;
  int bit;
  if (flip_of("products", &fault, &bit)) { flip_block = (uint32_t)fault; flip_thread = 5; flip_step = 7; mask = 1u << bit; }
  for (unsigned thread = 0; thread < threads; thread++) {
    uint32_t digest = product_digest(kernel, seed, thread, iterations, 0, 0);
    for (unsigned block = 0; block < blocks && digest != expected[thread]; block++)
      report(findings, (uint64_t)(block % sms) << 32 | block, digest ^ expected[thread]);
  }
  if (!mask || flip_block >= blocks || flip_step / iterations >= repeats) return;
  uint32_t digest = product_digest(kernel, seed, flip_thread, iterations, flip_step % iterations, mask);
  if (digest != expected[flip_thread]) report(findings, (uint64_t)(flip_block % sms) << 32 | flip_block, digest ^ expected[flip_thread]);
}

static void rate(uint64_t *p, unsigned blocks, unsigned threads, const char *what, double cycles_per_loop) {
  uint32_t *digests = (uint32_t *)(uintptr_t)p[0];
  uint64_t *records = (uint64_t *)(uintptr_t)p[1];
  unsigned sms = (unsigned)setting("sms", 4);
  double cycles = p[2] * cycles_per_loop * slow();
  for (unsigned at = 0; at < blocks * threads; at++) digests[at] = digest_of((uint32_t)p[2], at % threads);
  /* The blocks of an SM end one after another, as on a GPU. */
  for (unsigned block = 0; block < blocks; block++) {
    records[2 * block] = (uint64_t)(cycles * (block / sms + 1) / (blocks / sms));
    records[2 * block + 1] = block % sms;
  }
  unsigned long fault;
  int bit;
  if (flip_of(what, &fault, &bit) && fault < blocks) digests[fault * threads + 3] ^= 1u << bit;
  clock_ms += cycles / 1.5e6;
}

int cuLaunchKernel(uint64_t function, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty, unsigned tz, unsigned shared, uint64_t stream, void **params, void **extra) {
  (void)by; (void)bz; (void)ty; (void)tz; (void)shared; (void)stream; (void)params;
  ENTER("LaunchKernel");
  uint64_t bytes = *(uint64_t *)extra[3];
  if ((uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4] || bytes % 8 || bytes > 128) return 1;
  uint64_t *p = extra[1];
  unsigned long fault;
  int bit;
  switch (function & 0xff) {
    case FILL: {
      uint64_t *words = (uint64_t *)(uintptr_t)p[0];
      for (uint64_t at = 0; at < p[1]; at++) words[at] = pattern(p[2] + at, p[3], p[4]);
      clock_ms += p[1] * 8 / 4e9 * slow();
      break;
    }
    case VERIFY: {
      uint64_t *words = (uint64_t *)(uintptr_t)p[0];
      if (flip_of("memory", &fault, &bit) && fault >= p[2] && fault < p[2] + p[1]) words[fault - p[2]] ^= 1ull << bit;
      for (uint64_t at = 0; at < p[1]; at++) {
        uint64_t bits = words[at] ^ pattern(p[2] + at, p[3], p[4]);
        if (bits) report((uint64_t *)(uintptr_t)p[5], p[2] + at, bits);
      }
      clock_ms += p[1] * 8 / 4e9 * slow();
      break;
    }
    case INTEGER: products(INTEGER, p, bx, tx); clock_ms += p[2] * 0.1; break;
    case TENSOR_PRODUCTS: products(TENSOR_PRODUCTS, p, bx, tx); clock_ms += p[2] * 0.1; break;
    /* 95 % of 256, and of 4096 or 2048 FLOP per cycle and SM. */
    case FP32: rate(p, bx, tx, "fp32", 2048 / 0.95); break;
    case TENSOR: rate(p, bx, tx, "tensor", (function >= 0x200 ? 4096 : 2048) / 0.95); break;
  }
  return 0;
}
