// A plugin of qemu's that counts the instructions of a program: what it needs of version 1 of qemu-plugin.h, which
// few packages bring. Threads count together; the programs counted here have one.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
typedef void (*on_translated)(plugin_id, struct qemu_plugin_tb *);
typedef void (*on_executed)(unsigned int, void *);
typedef void (*on_exit)(plugin_id, void *);

extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, on_translated);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_executed, int flags, void *);
extern void qemu_plugin_register_atexit_cb(plugin_id, on_exit, void *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;

static void add(unsigned int cpu, void *count)
{
    (void)cpu;
    executed += (uintptr_t)count;
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, add, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(tb));
}

static void print(plugin_id id, void *unused)
{
    (void)id;
    (void)unused;
    fprintf(stderr, "instructions: %" PRIu64 "\n", executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments)
{
    (void)info;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
