// A reader for the one packed form a bundle travels in: a plain .zip (PKWARE APPNOTE 6.3).
// Stored and deflated members; anything else is refused by name. The browser inflates.

/** A zip that can't be read, with what is wrong. */
export class ZipError extends Error {
  /** @param {string} key of the message after "zip.", with its values */
  constructor(key, values = {}) {
    super(key);
    this.key = key;
    this.values = values;
  }
}

const END_RECORD = 0x06054b50;
const CENTRAL_RECORD = 0x02014b50;
const LOCAL_RECORD = 0x04034b50;
const END_BYTES = 22;
const LONGEST_COMMENT_BYTES = 0xffff;
const STORED = 0;
const DEFLATED = 8;

/** A packed file of a few kilobytes can unpack to gigabytes: what we accept in all. */
export const UNPACKED_LIMIT_BYTES = 512 * 1024 * 1024;

function findEnd(view) {
  const last = view.byteLength - END_BYTES;
  const first = Math.max(0, last - LONGEST_COMMENT_BYTES);
  for (let at = last; at >= first; at -= 1) {
    if (view.getUint32(at, true) === END_RECORD) {
      return at;
    }
  }
  throw new ZipError("not_zip");
}

function readDirectory(bytes, view) {
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  if (count === 0xffff || at === 0xffffffff) {
    throw new ZipError("zip64");
  }
  const members = [];
  for (let index = 0; index < count; index += 1) {
    if (view.getUint32(at, true) !== CENTRAL_RECORD) {
      throw new ZipError("directory");
    }
    const nameLength = view.getUint16(at + 28, true);
    members.push({
      encrypted: (view.getUint16(at + 8, true) & 1) === 1,
      method: view.getUint16(at + 10, true),
      packedBytes: view.getUint32(at + 20, true),
      unpackedBytes: view.getUint32(at + 24, true),
      offset: view.getUint32(at + 42, true),
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
    });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return members.filter((member) => !member.name.endsWith("/"));
}

async function inflate(packed, limitBytes, name) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const chunks = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    total += value.length;
    if (total > limitBytes) {
      await reader.cancel();
      throw new ZipError("larger", { name });
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

async function unpack(bytes, view, member) {
  const { name } = member;
  if (member.encrypted) {
    throw new ZipError("encrypted", { name });
  }
  if (view.getUint32(member.offset, true) !== LOCAL_RECORD) {
    throw new ZipError("entry", { name });
  }
  const start =
    member.offset +
    30 +
    view.getUint16(member.offset + 26, true) +
    view.getUint16(member.offset + 28, true);
  const packed = bytes.subarray(start, start + member.packedBytes);
  if (packed.length !== member.packedBytes) {
    throw new ZipError("short", { name });
  }
  if (member.method === STORED) {
    return packed;
  }
  if (member.method !== DEFLATED) {
    throw new ZipError("method", { name, method: member.method });
  }
  try {
    return await inflate(packed, member.unpackedBytes, name);
  } catch (error) {
    throw error instanceof ZipError ? error : new ZipError("data", { name });
  }
}

/**
 * Read every member of a zip.
 * @param {Uint8Array} bytes
 * @returns {Promise<{name: string, bytes: Uint8Array}[]>}
 * @throws {ZipError}
 */
export async function readZip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const members = readDirectory(bytes, view);
    const total = members.reduce((sum, member) => sum + member.unpackedBytes, 0);
    if (total > UNPACKED_LIMIT_BYTES) {
      throw new ZipError("limit");
    }
    const files = [];
    for (const member of members) {
      files.push({ name: member.name, bytes: await unpack(bytes, view, member) });
    }
    return files;
  } catch (error) {
    if (error instanceof RangeError) {
      throw new ZipError("cut");
    }
    throw error;
  }
}
