/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1 that returns what a script file specifies. It is built by the tests and must never be
 * installed. The file is `script` in the library's folder and is re-read whenever it changes, so a test can change a running GPU.
 *
 * One setting per line, `name value`. `3.power 250000` is for GPU 3, `*.power 250000` for all, in NVML's own units.
 *   N.KEY.rc CODE     the call returns this NVML return code
 *   N.KEY.hang 1      the call does not return until the line is removed
 *   N.KEY.sleep MS    the call takes this long
 *   N.KEY.crash 1     the call writes to address 0, as a broken driver does
 *   gpus, driver, cuda, init.rc, init.hang, init.crash, xid N NUMBER COUNT (events in all), link N COUNT, p2p A B STATUS,
 *   N.gpm_ID VALUE (N.giINSTANCE.gpm_ID for a MIG instance; an id outside the usual ones is supported if it has a value), N.gpm_nameless 1,
 *   mig N COUNT (N.mig_parts COMPUTE-INSTANCES-EACH), process N PID BYTES KIND(C|G) [INSTANCE [COMPUTE-INSTANCE]],
 *   N.process_share PERCENT of every process, N.process_share_PID of one
 * If a file `calls` exists in the folder, every call is logged there as `milliseconds GPU KEY`.
 */
#include "script.h"

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10 };

/* The start of every call: logs it and applies the script's hang, sleep, crash and return code. */
static int gpu_count(void);
static int enter(int gpu, const char *key) {
  refresh();
  note(gpu, key);
  if (gpu >= gpu_count()) return INVALID;
  while (find_of(gpu, key, ".hang") >= 0) {
    usleep(20000);
    refresh();
  }
  int slow = find_of(gpu, key, ".sleep");
  if (slow >= 0) usleep((useconds_t)(line[slow].value * 1000));
  if (find_of(gpu, key, ".crash") >= 0) *(volatile int *)0 = 1;
  int fails = find_of(gpu, key, ".rc");
  return fails < 0 ? OK : (int)line[fails].value;
}

/* Handles: GPU 3 is 0x1003, its MIG instance 2 is 0x2032. */
static uint64_t handle_of(int gpu) { return 0x1000u + (unsigned)gpu; }
static int is_mig(uint64_t handle) { return handle >= 0x2000; }
static int gpu_of(uint64_t handle) { return is_mig(handle) ? (int)(handle - 0x2000) / 16 : (int)(handle - 0x1000); }
static int mig_of(uint64_t handle) { return (int)(handle - 0x2000) % 16; }
static int gpu_count(void) { refresh(); int at = find("gpus"); return at < 0 ? 8 : (int)line[at].value; }

/* The third word of `name N …` for this GPU. */
static double listed(const char *name, int gpu, double otherwise) {
  for (int at = lines - 1; at >= 0; at--) {
    int n;
    double v;
    if (!strcmp(line[at].name, name) && sscanf(line[at].text, "%d %lf", &n, &v) == 2 && n == gpu) return v;
  }
  return otherwise;
}

static int put_text(char *out, unsigned room, const char *what) {
  snprintf(out, room, "%s", what);
  return OK;
}

#define U32(name, key, otherwise) \
  int name(uint64_t h, unsigned *out) { \
    int rc = enter(gpu_of(h), key); \
    if (!rc) *out = (unsigned)value(gpu_of(h), key, otherwise); \
    return rc; \
  }
#define U64(name, key, otherwise) \
  int name(uint64_t h, uint64_t *out) { \
    int rc = enter(gpu_of(h), key); \
    if (!rc) *out = (uint64_t)value(gpu_of(h), key, otherwise); \
    return rc; \
  }

int nvmlInit_v2(void) { refresh(); note(-1, "init"); while (find("init.hang") >= 0) { usleep(20000); refresh(); } if (find("init.crash") >= 0) *(volatile int *)0 = 1; int at = find("init.rc"); return at < 0 ? OK : (int)line[at].value; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { note(-1, "shutdown"); return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned room) { int at = find("driver"); return put_text(out, room, at < 0 ? "580.95.05" : line[at].text); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 13000; return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { int rc = enter(-1, "count"); *out = (unsigned)gpu_count(); return rc; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, uint64_t *out) {
  if (index >= (unsigned)gpu_count()) return INVALID;
  int rc = enter((int)index, "handle");
  *out = handle_of((int)index);
  return rc;
}
int nvmlDeviceGetUUID(uint64_t h, char *out, unsigned room);
int nvmlDeviceGetHandleByUUID(const char *uuid, uint64_t *out) {
  char own[64];
  for (int gpu = 0; gpu < gpu_count(); gpu++) {
    nvmlDeviceGetUUID(handle_of(gpu), own, sizeof own);
    *out = handle_of(gpu);
    if (!strcmp(own, uuid)) return OK;
    for (int place = 0; place < (int)listed("mig", gpu, 0); place++) {
      *out = 0x2000u + (unsigned)gpu * 16 + (unsigned)place;
      nvmlDeviceGetUUID(*out, own, sizeof own);
      if (!strcmp(own, uuid)) return OK;
    }
  }
  return NOT_FOUND;
}
const char *nvmlErrorString(int code) { return code == OK ? "Success" : "Stub error"; }
int nvmlDeviceGetUUID(uint64_t h, char *out, unsigned room) {
  char uuid[64];
  if (is_mig(h)) snprintf(uuid, sizeof uuid, "MIG-%08x-0000-4000-8000-%012d", gpu_of(h), mig_of(h));
  else snprintf(uuid, sizeof uuid, "GPU-%08x-0000-4000-8000-000000000000", gpu_of(h));
  int rc = enter(gpu_of(h), "uuid");
  return rc ? rc : put_text(out, room, is_mig(h) ? uuid : text(gpu_of(h), "uuid", uuid));
}
int nvmlDeviceGetName(uint64_t h, char *out, unsigned room) {
  char name[160];
  snprintf(name, sizeof name, "%s%s", text(gpu_of(h), "name", "NVIDIA Stub 80GB"), is_mig(h) ? " MIG 1g.10gb" : "");
  return put_text(out, room, name);
}
int nvmlDeviceGetVbiosVersion(uint64_t h, char *out, unsigned room) { return put_text(out, room, text(gpu_of(h), "vbios", "96.00.00.00.01")); }
int nvmlDeviceGetPciInfo_v3(uint64_t h, char *out) {
  memset(out, 0, 68);
  char id[32];
  snprintf(id, sizeof id, "00000000:%02X:00.0", 0x10 + gpu_of(h));
  return put_text(out + 36, 32, text(gpu_of(h), "pci", id));
}
int nvmlDeviceGetMinorNumber(uint64_t h, unsigned *out) { if (is_mig(h)) return UNSUPPORTED; *out = (unsigned)value(gpu_of(h), "minor", gpu_of(h)); return enter(gpu_of(h), "minor"); }
int nvmlDeviceGetCudaComputeCapability(uint64_t h, int *major, int *minor) { *major = 9; *minor = 0; return enter(gpu_of(h), "cuda_capability"); }
int nvmlDeviceGetBusType(uint64_t h, unsigned *out) { (void)h; *out = 2; return OK; }

int nvmlDeviceGetUtilizationRates(uint64_t h, unsigned *out) {
  int rc = enter(gpu_of(h), "utilization");
  out[0] = (unsigned)value(gpu_of(h), "utilization", 42);
  out[1] = (unsigned)value(gpu_of(h), "memory_utilization", 21);
  return rc;
}
int nvmlDeviceGetEncoderUtilization(uint64_t h, unsigned *out, unsigned *period) { *period = 1000; *out = (unsigned)value(gpu_of(h), "encoder", 3); return enter(gpu_of(h), "encoder"); }
int nvmlDeviceGetDecoderUtilization(uint64_t h, unsigned *out, unsigned *period) { *period = 1000; *out = (unsigned)value(gpu_of(h), "decoder", 4); return enter(gpu_of(h), "decoder"); }
int nvmlDeviceGetJpgUtilization(uint64_t h, unsigned *out, unsigned *period) { *period = 1000; *out = (unsigned)value(gpu_of(h), "jpeg", 5); return enter(gpu_of(h), "jpeg"); }
int nvmlDeviceGetOfaUtilization(uint64_t h, unsigned *out, unsigned *period) { *period = 1000; *out = (unsigned)value(gpu_of(h), "ofa", 6); return enter(gpu_of(h), "ofa"); }
int nvmlDeviceGetMemoryInfo_v2(uint64_t h, uint64_t *out) {
  int rc = enter(gpu_of(h), "memory");
  if (((unsigned *)out)[0] != 0x02000028) return 25;
  out[1] = is_mig(h) ? 10737418240u : (uint64_t)value(gpu_of(h), "memory_total", 85899345920.0);
  out[2] = (uint64_t)value(gpu_of(h), "memory_reserved", 1048576);
  out[4] = (uint64_t)value(gpu_of(h), "memory", 1073741824) / (is_mig(h) ? 8 : 1);
  out[3] = out[1] - out[2] - out[4];
  return rc;
}
int nvmlDeviceGetMemoryInfo(uint64_t h, uint64_t *out) {
  int rc = enter(gpu_of(h), "memory_v1");
  out[0] = (uint64_t)value(gpu_of(h), "memory_total", 85899345920.0);
  out[2] = (uint64_t)value(gpu_of(h), "memory", 1073741824);
  out[1] = out[0] - out[2];
  return rc;
}
int nvmlDeviceGetBAR1MemoryInfo(uint64_t h, uint64_t *out) { int rc = enter(gpu_of(h), "bar1"); out[0] = (uint64_t)value(gpu_of(h), "bar1_total", 137438953472.0); out[2] = (uint64_t)value(gpu_of(h), "bar1", 2097152); out[1] = out[0] - out[2]; return rc; }
int nvmlDeviceGetTemperature(uint64_t h, unsigned sensor, unsigned *out) { (void)sensor; *out = (unsigned)value(gpu_of(h), "temperature", 55); return enter(gpu_of(h), "temperature"); }
int nvmlDeviceGetMarginTemperature(uint64_t h, int *out) { if (out[0] != 0x1000008) return 25; out[1] = (int)value(gpu_of(h), "margin", 32); return enter(gpu_of(h), "margin"); }
int nvmlDeviceGetTemperatureThreshold(uint64_t h, unsigned type, unsigned *out) {
  static const char *const keys[] = {"limit_shutdown", "limit_slowdown", "limit_memory", "limit_max", "", "limit_target"};
  static const unsigned celsius[] = {95, 89, 95, 87, 0, 83};
  if (type > 5 || type == 4) return UNSUPPORTED;
  int rc = enter(gpu_of(h), keys[type]);
  *out = (unsigned)value(gpu_of(h), keys[type], celsius[type]);
  return rc;
}
U32(nvmlDeviceGetPowerUsage, "power", 250000)
U32(nvmlDeviceGetEnforcedPowerLimit, "power_limit", 700000)
U32(nvmlDeviceGetPowerManagementLimit, "power_limit", 700000)
U32(nvmlDeviceGetPowerManagementDefaultLimit, "power_default", 700000)
int nvmlDeviceGetPowerManagementLimitConstraints(uint64_t h, unsigned *least, unsigned *most) { *least = 200000; *most = 700000; return enter(gpu_of(h), "power_range"); }
U64(nvmlDeviceGetTotalEnergyConsumption, "energy", 123456789)
int nvmlDeviceGetClockInfo(uint64_t h, unsigned type, unsigned *out) {
  static const char *const keys[] = {"clock_graphics", "clock_sm", "clock_memory", "clock_video"};
  static const unsigned megahertz[] = {1755, 1755, 2619, 1545};
  if (type > 3) return INVALID;
  *out = (unsigned)value(gpu_of(h), keys[type], megahertz[type]);
  return enter(gpu_of(h), keys[type]);
}
int nvmlDeviceGetMaxClockInfo(uint64_t h, unsigned type, unsigned *out) { static const unsigned megahertz[] = {1980, 1980, 2619, 1545}; if (type > 3) return INVALID; *out = megahertz[type]; return enter(gpu_of(h), "clock_max"); }
U64(nvmlDeviceGetCurrentClocksEventReasons, "reasons", 0)
U32(nvmlDeviceGetPerformanceState, "pstate", 0)
U32(nvmlDeviceGetNumFans, "fans", 0)
int nvmlDeviceGetFanSpeed_v2(uint64_t h, unsigned fan, unsigned *out) { if (fan >= (unsigned)value(gpu_of(h), "fans", 0)) return INVALID; *out = (unsigned)value(gpu_of(h), "fan_speed", 35); return enter(gpu_of(h), "fan_speed"); }
int nvmlDeviceGetFanSpeed(uint64_t h, unsigned *out) { return value(gpu_of(h), "fans", 0) < 1 ? UNSUPPORTED : nvmlDeviceGetFanSpeed_v2(h, 0, out); }
int nvmlDeviceGetFanSpeedRPM(uint64_t h, unsigned *out) { out[2] = (unsigned)value(gpu_of(h), "fan_rpm", 1500); return enter(gpu_of(h), "fan_rpm"); }
U32(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation", 5)
U32(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", 16)
U32(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_generation_max", 5)
U32(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max", 16)
int nvmlDeviceGetPcieThroughput(uint64_t h, unsigned direction, unsigned *out) { const char *key = direction ? "pcie_receive" : "pcie_transmit"; *out = (unsigned)value(gpu_of(h), key, direction ? 2000 : 1000); return enter(gpu_of(h), key); }
U32(nvmlDeviceGetPcieReplayCounter, "replays", 7)
int nvmlDeviceGetTotalEccErrors(uint64_t h, unsigned error, unsigned counter, uint64_t *out) {
  static const char *const keys[] = {"ecc_corrected", "ecc_lifetime_corrected", "ecc_uncorrected", "ecc_lifetime_uncorrected"};
  const char *key = keys[(error & 1) * 2 + (counter & 1)];
  *out = (uint64_t)value(gpu_of(h), key, 0);
  return enter(gpu_of(h), key);
}
int nvmlDeviceGetEccMode(uint64_t h, unsigned *now, unsigned *next) { *now = (unsigned)value(gpu_of(h), "ecc_mode", 1); *next = (unsigned)value(gpu_of(h), "ecc_pending", *now); return enter(gpu_of(h), "ecc_mode"); }
U32(nvmlDeviceGetPersistenceMode, "persistence", 1)
U32(nvmlDeviceGetComputeMode, "compute_mode", 0)
int nvmlDeviceGetGpuFabricInfo(uint64_t h, unsigned char *out) { memset(out, 0, 28); out[24] = (unsigned char)value(gpu_of(h), "fabric", 0); return enter(gpu_of(h), "fabric"); }

/* Fields are scripted as N.field_ID (or N.field_ID_SCOPE); a field without a line is not supported. */
int nvmlDeviceGetFieldValues(uint64_t h, unsigned count, unsigned char *out) {
  int rc = enter(gpu_of(h), "fields");
  for (unsigned at = 0; at < count && !rc; at++, out += 40) {
    unsigned id, scope;
    memcpy(&id, out, 4);
    memcpy(&scope, out + 4, 4);
    char key[48];
    if (scope && scope != 0xffffffffu) snprintf(key, sizeof key, "field_%u_%u", id, scope);
    else snprintf(key, sizeof key, "field_%u", id);
    int found = find_of(gpu_of(h), key, "");
    int fails = find_of(gpu_of(h), key, ".rc");
    unsigned code = fails >= 0 ? (unsigned)line[fails].value : found < 0 ? UNSUPPORTED : OK;
    double number = found < 0 ? 0 : line[found].value;
    unsigned type = number < 0 ? 4 : 3;
    int64_t whole = (int64_t)number;
    memcpy(out + 24, &type, 4);
    memcpy(out + 28, &code, 4);
    memcpy(out + 32, &whole, 8);
  }
  return rc;
}
/* Every GPU is on a root complex of its own: NVML_TOPOLOGY_SYSTEM. */
int nvmlDeviceGetTopologyCommonAncestor(uint64_t one, uint64_t other, int *out) { (void)other; *out = 50; return enter(gpu_of(one), "topology"); }
int nvmlDeviceGetNvLinkState(uint64_t h, unsigned link, unsigned *out) {
  int rc = enter(gpu_of(h), "link");
  if (link >= (unsigned)listed("link", gpu_of(h), 0)) return UNSUPPORTED;
  char key[32];
  snprintf(key, sizeof key, "link_%u", link);
  *out = (unsigned)value(gpu_of(h), key, 1);
  return rc;
}
int nvmlDeviceGetP2PStatus(uint64_t a, uint64_t b, unsigned capability, unsigned *out) {
  int rc = enter(gpu_of(a), "p2p");
  (void)capability;
  *out = OK;
  for (int at = 0; at < lines; at++) {
    int from, to;
    unsigned status;
    if (!strcmp(line[at].name, "p2p") && sscanf(line[at].text, "%d %d %u", &from, &to, &status) == 3 && from == gpu_of(a) && to == gpu_of(b)) *out = status;
  }
  return rc;
}
int nvmlDeviceGetMigMode(uint64_t h, unsigned *now, unsigned *next) {
  int rc = enter(gpu_of(h), "mig_mode");
  *now = *next = listed("mig", gpu_of(h), -1) >= 0;
  return rc;
}
int nvmlDeviceGetMaxMigDeviceCount(uint64_t h, unsigned *out) { (void)h; *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(uint64_t h, unsigned index, uint64_t *out) {
  if (index >= (unsigned)listed("mig", gpu_of(h), 0)) return NOT_FOUND;
  *out = 0x2000u + (unsigned)gpu_of(h) * 16 + index;
  return OK;
}
static unsigned mig_parts(uint64_t h) { return (unsigned)value(gpu_of(h), "mig_parts", 1); }
int nvmlDeviceGetGpuInstanceId(uint64_t h, unsigned *out) { *out = 7 + (unsigned)mig_of(h) / mig_parts(h); return OK; }
/* A GPU instance's handle: 0x4000 + 16 * GPU + its index. Instances have one slice each, profile 19, ordered by id. */
int nvmlDeviceGetGpuInstanceById(uint64_t h, unsigned id, uint64_t *out) { int rc = enter(gpu_of(h), "gpu_instance"); *out = 0x4000u + (unsigned)gpu_of(h) * 16 + (id - 7); return rc; }
int nvmlGpuInstanceGetInfo(uint64_t h, unsigned *out) { out[2] = 7 + (unsigned)(h - 0x4000) % 16; out[3] = 19; out[4] = (unsigned)(h - 0x4000) % 16; out[5] = 1; return OK; }
int nvmlDeviceIsMigDeviceHandle(uint64_t h, unsigned *out) { *out = (unsigned)is_mig(h); return OK; }
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(uint64_t h, uint64_t *out) { if (!is_mig(h)) return INVALID; *out = handle_of(gpu_of(h)); return OK; }
int nvmlDeviceGetAttributes_v2(uint64_t h, unsigned *out) {
  uint64_t mebibytes = 10240;
  if (!is_mig(h)) return INVALID;
  memset(out, 0, 40);
  out[0] = 16;
  out[6] = out[7] = 1;
  memcpy(out + 8, &mebibytes, 8);
  return enter(gpu_of(h), "mig_attributes");
}
/* The GPU instance's profile of one slice is the first in NVML's numbering, and so is its compute instance's. */
int nvmlDeviceGetGpuInstanceProfileInfo(uint64_t h, unsigned profile, unsigned *out) {
  uint64_t mebibytes = 10240;
  int rc = enter(gpu_of(h), "gpu_instance_profile");
  if (rc || profile != 0) return rc ? rc : UNSUPPORTED;
  memset(out, 0, 48);
  out[0] = 19;
  out[2] = 1;
  out[3] = 7;
  out[4] = 16;
  memcpy(out + 10, &mebibytes, 8);
  return OK;
}
int nvmlGpuInstanceGetComputeInstanceProfileInfo(uint64_t h, unsigned profile, unsigned engine, unsigned *out) {
  (void)h;
  if (profile != 0 || engine != 0) return UNSUPPORTED;
  memset(out, 0, 36);
  out[1] = out[2] = 1;
  out[3] = 16;
  return OK;
}
/* A compute instance's handle: 0x7000 + 16 * GPU + its number. */
int nvmlGpuInstanceGetComputeInstanceById(uint64_t h, unsigned id, uint64_t *out) { *out = 0x7000u + (unsigned)(h - 0x4000) / 16 * 16 + id; return OK; }
int nvmlComputeInstanceGetInfo_v2(uint64_t h, unsigned *out) { memset(out, 0, 32); out[4] = (unsigned)(h - 0x7000) % 16; out[7] = 1; return OK; }
int nvmlDeviceGetComputeInstanceId(uint64_t h, unsigned *out) { *out = (unsigned)mig_of(h) % mig_parts(h); return OK; }

static int processes(uint64_t h, unsigned *count, unsigned char *out, char wanted) {
  int rc = enter(gpu_of(h), "processes");
  if (rc) return rc;
  unsigned room = *count, found = 0;
  for (int at = 0; at < lines; at++) {
    int gpu;
    unsigned pid, instance = 0xffffffffu, part = 0xffffffffu;
    double bytes;
    char kind;
    if (strcmp(line[at].name, "process") || sscanf(line[at].text, "%d %u %lf %c %u %u", &gpu, &pid, &bytes, &kind, &instance, &part) < 4) continue;
    if (gpu != gpu_of(h) || kind != wanted) continue;
    if (found < room) {
      uint64_t used = bytes < 0 ? ~(uint64_t)0 : (uint64_t)bytes;
      memcpy(out + found * 24, &pid, 4);
      memcpy(out + found * 24 + 8, &used, 8);
      memcpy(out + found * 24 + 16, &instance, 4);
      memcpy(out + found * 24 + 20, &part, 4);
    }
    found++;
  }
  *count = found;
  return found > room ? TOO_SMALL : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(uint64_t h, unsigned *count, unsigned char *out) { return processes(h, count, out, 'C'); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(uint64_t h, unsigned *count, unsigned char *out) { return processes(h, count, out, 'G'); }
int nvmlDeviceGetProcessUtilization(uint64_t h, unsigned char *out, unsigned *count, uint64_t since) {
  int rc = enter(gpu_of(h), "process_utilization");
  (void)since;
  unsigned found = 0;
  for (int at = 0; at < lines && !rc; at++) {
    int gpu;
    unsigned pid;
    double bytes;
    if (strcmp(line[at].name, "process") || sscanf(line[at].text, "%d %u %lf", &gpu, &pid, &bytes) < 3 || gpu != gpu_of(h)) continue;
    if (found < *count) {
      memset(out + found * 32, 0, 32);
      uint64_t time = 1000000;
      char own[64];
      snprintf(own, sizeof own, "process_share_%u", pid);
      unsigned percent = (unsigned)value(gpu, own, value(gpu, "process_share", 60));
      memcpy(out + found * 32, &pid, 4);
      memcpy(out + found * 32 + 8, &time, 8);
      memcpy(out + found * 32 + 16, &percent, 4);
    }
    found++;
  }
  if (!rc && found > *count) rc = TOO_SMALL;
  *count = found;
  return rc ? rc : found ? OK : NOT_FOUND;
}

static struct { int gpu; unsigned xid; int told; } told[256];
static int tolds;
int nvmlEventSetCreate(uint64_t *out) { *out = 0x5000; return OK; }
int nvmlEventSetFree(uint64_t set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(uint64_t h, uint64_t types, uint64_t set) { (void)types; (void)set; return enter(gpu_of(h), "events"); }
int nvmlDeviceGetSupportedEventTypes(uint64_t h, uint64_t *out) { *out = 8; return enter(gpu_of(h), "event_types"); }
static int next_event(unsigned char *out) {
  refresh();
  for (int at = 0; at < lines; at++) {
    int gpu, count;
    unsigned xid;
    if (strcmp(line[at].name, "xid") || sscanf(line[at].text, "%d %u %d", &gpu, &xid, &count) != 3) continue;
    int seen = 0;
    while (seen < tolds && (told[seen].gpu != gpu || told[seen].xid != xid)) seen++;
    if (seen == tolds && tolds < 256) { told[tolds].gpu = gpu; told[tolds].xid = xid; told[tolds].told = 0; tolds++; }
    if (seen >= 256 || told[seen].told >= count) continue;
    told[seen].told++;
    uint64_t handle = handle_of(gpu), type = 8, data = xid;
    memcpy(out, &handle, 8);
    memcpy(out + 8, &type, 8);
    memcpy(out + 16, &data, 8);
    return OK;
  }
  return TIMEOUT;
}
int nvmlEventSetWait_v2(uint64_t set, unsigned char *out, unsigned timeout) {
  (void)set;
  int rc = next_event(out);
  for (unsigned waited = 0; rc == TIMEOUT && waited < timeout; waited += 20) {
    usleep(20000);
    rc = next_event(out);
  }
  return rc;
}

int nvmlGpmQueryDeviceSupport(uint64_t h, unsigned *out) { out[1] = (unsigned)value(gpu_of(h), "gpm", 1); return enter(gpu_of(h), "gpm_support"); }
#define FIRST_SAMPLE 0x6000
#define SAMPLES 1024
static uint64_t samples = FIRST_SAMPLE;
/* The GPU and the instance (-1: the whole GPU) of each sample. */
static struct { int gpu, instance; } sampled[SAMPLES];
int nvmlGpmSampleAlloc(uint64_t *out) { *out = samples++; return OK; }
int nvmlGpmSampleFree(uint64_t sample) { (void)sample; return OK; }
static int take_sample(uint64_t h, int instance, uint64_t sample) {
  if (sample < FIRST_SAMPLE || sample >= FIRST_SAMPLE + SAMPLES) return INVALID;
  sampled[sample - FIRST_SAMPLE].gpu = gpu_of(h);
  sampled[sample - FIRST_SAMPLE].instance = instance;
  return enter(gpu_of(h), "gpm");
}
int nvmlGpmSampleGet(uint64_t h, uint64_t sample) { return take_sample(h, -1, sample); }
int nvmlGpmMigSampleGet(uint64_t h, unsigned instance, uint64_t sample) { return take_sample(h, (int)instance, sample); }
static int answers_gpm(unsigned id) { return (id >= 1 && id <= 13 && id != 8) || id == 20 || id == 21; }
/* Like the driver, returns 0 with "success" and without a name for an unknown id. Percent, or MiB/s from id 20 on. */
int nvmlGpmMetricsGet(unsigned char *out) {
  unsigned count;
  uint64_t sample;
  memcpy(&count, out + 4, 4);
  memcpy(&sample, out + 16, 8);
  if (sample < FIRST_SAMPLE || sample >= FIRST_SAMPLE + SAMPLES) return INVALID;
  int gpu = sampled[sample - FIRST_SAMPLE].gpu, instance = sampled[sample - FIRST_SAMPLE].instance;
  int code = enter(gpu, "gpm_metrics");
  if (code != OK) return code;
  for (unsigned at = 0; at < count; at++) {
    unsigned char *metric = out + 24 + at * 40;
    unsigned id, answer = OK;
    memcpy(&id, metric, 4);
    char key[40], of_instance[48];
    snprintf(key, sizeof key, "gpm_%u", id);
    snprintf(of_instance, sizeof of_instance, "gi%d.%s", instance, key);
    int is_known = answers_gpm(id) || find_of(gpu, key, "") >= 0;
    double share = value(gpu, key, !is_known ? 0 : id <= 10 ? 10.0 * id : id <= 13 ? 5.0 * id : 100.0 * id);
    if (instance >= 0) share = value(gpu, of_instance, share);
    int fails = find_of(gpu, key, ".rc");
    if (fails >= 0) answer = (unsigned)line[fails].value;
    const char *name = is_known && value(gpu, "gpm_nameless", 0) == 0 ? "metric" : NULL;
    memcpy(metric + 4, &answer, 4);
    memcpy(metric + 8, &share, 8);
    memcpy(metric + 16, &name, sizeof name);
  }
  return OK;
}
