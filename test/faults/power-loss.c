/*
 * LD_PRELOAD: keeps, in POWER_LOSS_IMAGE, what a power cut would leave of the folder POWER_LOSS_FOLDER: only what was
 * fsync'd. The image is the worst case a disk may legally give.
 *
 *   fsync or fdatasync of a file     its content, and its entry in the folder, are in the image from then on
 *   fsync or fdatasync of the folder files that were removed leave the image, new ones join it, empty
 *   anything else                    changes nothing in the image: a write, truncation or removal is lost
 *
 * POWER_LOSS_KILL_AT=3: the third fsync of the process does not happen; the process is killed in its place.
 *
 * The image is changed before the caller hears that its fsync succeeded, each file in one step (rename), so the process may
 * be killed at any moment. Subfolders are not followed. SQLite calls fsync only, its -shm is never synced: it is rebuilt.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int (*sync_call)(int);

static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *what) {
  perror(what);
  abort();
}

static void image_path(char *path, const char *name) {
  snprintf(path, PATH_MAX, "%s/%s", getenv("POWER_LOSS_IMAGE"), name);
}

/* Reads through the caller's own descriptor: opening and closing the file anew would drop the process's locks on it. */
static void keep_content(int fd, const char *name) {
  char temporary[PATH_MAX], path[PATH_MAX];
  image_path(temporary, ".being-written");
  image_path(path, name);
  int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (out < 0) give_up("power-loss: open");
  static char buffer[1 << 16];
  off_t at = 0;
  ssize_t length;
  while ((length = pread(fd, buffer, sizeof buffer, at)) > 0) {
    if (pwrite(out, buffer, length, at) != length) give_up("power-loss: write");
    at += length;
  }
  if (length < 0) give_up("power-loss: read");
  close(out);
  if (rename(temporary, path) != 0) give_up("power-loss: rename");
}

static void keep_entries(const char *folder) {
  char path[PATH_MAX];
  struct dirent *entry;
  DIR *image = opendir(getenv("POWER_LOSS_IMAGE"));
  while (image && (entry = readdir(image))) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] == '.' || access(path, F_OK) == 0) continue;
    image_path(path, entry->d_name);
    unlink(path);
  }
  if (image) closedir(image);
  DIR *real = opendir(folder);
  while (real && (entry = readdir(real))) {
    if (entry->d_type != DT_REG) continue;
    image_path(path, entry->d_name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) close(fd);
  }
  if (real) closedir(real);
}

static void kill_when_due(void) {
  static atomic_int calls;
  const char *at = getenv("POWER_LOSS_KILL_AT");
  if (!at || atomic_fetch_add(&calls, 1) + 1 < atoi(at)) return;
  kill(getpid(), SIGKILL);
  pause();
}

static int sync_and_keep(const char *call, int fd) {
  kill_when_due();
  sync_call original = (sync_call)dlsym(RTLD_NEXT, call);
  int result = original(fd);
  const char *folder = getenv("POWER_LOSS_FOLDER");
  if (result != 0 || !folder) return result;

  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return result;
  path[length] = 0;

  size_t prefix = strlen(folder);
  if (strncmp(path, folder, prefix) != 0) return result;
  pthread_mutex_lock(&image_lock);
  if (path[prefix] == 0) keep_entries(folder);
  else if (path[prefix] == '/' && !strchr(path + prefix + 1, '/')) keep_content(fd, path + prefix + 1);
  pthread_mutex_unlock(&image_lock);
  return result;
}

int fsync(int fd) { return sync_and_keep("fsync", fd); }
int fdatasync(int fd) { return sync_and_keep("fdatasync", fd); }
