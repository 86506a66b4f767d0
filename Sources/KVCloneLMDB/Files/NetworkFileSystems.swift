import CKVCloneLMDB
import Glibc

/// File systems on which LMDB's shared memory and locks do not work between machines, by the type number of `statfs`
/// (linux/magic.h and each system's own header).
enum NetworkFileSystems {
  private static let names: [UInt64: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x0102_1997: "9p", 0x5346_414F: "AFS",
    0x00C3_6400: "Ceph", 0x0BD0_0BD0: "Lustre", 0x7375_7245: "Coda", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    0x786F_4256: "vboxsf", 0x564C: "NCP",
  ]
  private static let fuse: UInt64 = 0x6573_5546

  /// Rejects a directory on one of them, and on FUSE unless its type is trusted.
  static func check(_ path: String, trustedFuse: Set<String>) throws(LMDBError) {
    var code: Int32 = 0
    let type = unsafe kvclone_file_system_type(path, &code)
    if code != 0 { throw LMDBError(code: code, operation: "statfs") }
    let isFuse = type == fuse
    let subtype = isFuse ? fuseKind(path, FileSystem.smallTextFile("/proc/self/mountinfo") ?? "") : nil
    if let name = refusal(type: type, fuseKind: subtype, trustedFuse: trustedFuse) {
      throw .networkFileSystem(name: name)
    }
  }

  /// The name of a rejected file system, or nil.
  static func refusal(type: UInt64, fuseKind: String?, trustedFuse: Set<String>) -> String? {
    if let name = names[type] { return name }
    guard type == fuse else { return nil }
    let kind = fuseKind ?? "fuse"
    return trustedFuse.contains(kind) ? nil : kind
  }

  /// The type of the mount that contains `path`, found by its device number: "… 8:1 … - fuse.sshfs …".
  private static func fuseKind(_ path: String, _ mountinfo: String) -> String? {
    guard let facts = try? FileSystem.facts(path) else { return nil }
    let device = facts.identity.device
    // gnu_dev_major and gnu_dev_minor.
    let major = (device >> 8 & 0xFFF) | (device >> 32 & ~0xFFF)
    let minor = (device & 0xFF) | (device >> 12 & ~0xFF)
    return kind(ofDevice: "\(major):\(minor)", mountinfo)
  }

  static func kind(ofDevice device: String, _ mountinfo: String) -> String? {
    for line in mountinfo.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 3, fields[2] == device, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
      else { continue }
      return String(fields[dash + 1])
    }
    return nil
  }
}
