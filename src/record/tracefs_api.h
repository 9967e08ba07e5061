/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef E4R_RECORD_TRACEFS_API_H
#define E4R_RECORD_TRACEFS_API_H

/*
 * The functions of libtracefs that are used here. Its own header (1.6) has inline functions that
 * are not valid C++. tracefs_api.c includes both, so the compiler checks one against the other.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tep_handle;
struct tracefs_cpu;
struct tracefs_dynevent;
struct tracefs_instance;

const char* tracefs_tracing_dir(void);
int tracefs_set_tracing_dir(char* tracing_dir);
char** tracefs_instances(const char* regex);
void tracefs_list_free(char** list);

struct tracefs_instance* tracefs_instance_create(const char* name);
int tracefs_instance_destroy(struct tracefs_instance* instance);
void tracefs_instance_free(struct tracefs_instance* instance);
int tracefs_instance_set_buffer_size(struct tracefs_instance* instance, size_t size_kb, int cpu);
int tracefs_instance_file_write(struct tracefs_instance* instance, const char* file,
                                const char* text);
int tracefs_instance_file_open(struct tracefs_instance* instance, const char* file, int mode);
char* tracefs_instance_file_read(struct tracefs_instance* instance, const char* file, int* size);
int tracefs_trace_on(struct tracefs_instance* instance);
int tracefs_trace_off(struct tracefs_instance* instance);

struct tracefs_dynevent* tracefs_kprobe_alloc(const char* system, const char* event,
                                              const char* addr, const char* format);
int tracefs_dynevent_create(struct tracefs_dynevent* devent);
int tracefs_dynevent_destroy(struct tracefs_dynevent* devent, bool force);
void tracefs_dynevent_free(struct tracefs_dynevent* devent);

struct tep_handle* tracefs_local_events_system(const char* tracing_dir, const char* const* systems);

struct tracefs_cpu* tracefs_cpu_alloc_fd(int fd, int subbuf_size, bool nonblock);
void tracefs_cpu_close(struct tracefs_cpu* cpu);
int tracefs_cpu_read_size(struct tracefs_cpu* cpu);
int tracefs_cpu_read(struct tracefs_cpu* cpu, void* buffer, bool nonblock);

#ifdef __cplusplus
}
#endif

#endif
