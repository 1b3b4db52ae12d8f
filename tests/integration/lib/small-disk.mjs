// A file system of a few megabytes of its own, that a test fills and empties. It takes the right to mount.
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export class SmallDisk {
  /** Nothing where mounting is not allowed. */
  static make(megabytes = 4) {
    const disk = new SmallDisk();
    disk.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-disk-'));
    const made = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', disk.folder]);
    if (made.status === 0) return disk;
    rmSync(disk.folder, { recursive: true });
    return undefined;
  }

  get ballast() { return path.join(this.folder, 'ballast'); }

  /** To the last byte. */
  fill() {
    const file = openSync(this.ballast, 'a');
    const block = Buffer.alloc(4096, 1);
    try {
      for (;;) writeSync(file, block);
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
    } finally { closeSync(file); }
  }

  makeRoom() { unlinkSync(this.ballast); }

  dispose() {
    spawnSync('umount', ['-l', this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const probe = SmallDisk.make(1);
probe?.dispose();
/** False where tests may not mount. */
export const mayMount = probe !== undefined;
