import BenchmarkSupport
import Foundation

/// Copies of the whole file, for reference: the time to duplicate all data without knowledge of its structure.
struct FileCopies {
  private let bench: ExtraBench

  init(_ bench: ExtraBench) { self.bench = bench }

  func run() throws -> String {
    let source = try bench.source()
    let target = bench.lab.folder + "/file-copy"
    defer { StoreFiles.remove(target) }
    var table = MarkdownTable(["copy", "rounds", "median", "least", "most", "bytes"])
    var notes: [String] = []
    func add(_ title: String, _ shell: String, _ source: String, _ target: String) {
      var seconds: [Double] = []
      for _ in 0..<3 {
        StoreFiles.remove(target)
        do {
          // Removed and synced before the clock starts.
          try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
          let result = try Command.run(["/bin/bash", "-c", shell, "copy", source, target])
          guard result.status == 0 else {
            throw PeerFailure(result.errors.split(separator: "\n").last.map(String.init) ?? "")
          }
          seconds.append(result.seconds)
        } catch {
          notes.append("\(title) is missing: \(error)")
          return
        }
      }
      let times = Rounds(seconds)
      let size = (try? StoreFiles.bytes(target)) ?? 0
      table.rows.append(
        [
          title, "\(times.values.count)", duration(times.median), duration(times.least), duration(times.most),
          bytes(Double(size)),
        ])
    }
    add("cp, then sync", #"cp --reflink=never "$1"/data.mdb "$2"/ && sync "$2"/data.mdb"#, source, target)
    if let program = Command.find("mdb_copy") {
      add("mdb_copy -c, then sync", #"\#(program) -c "$1" "$2" && sync "$2"/data.mdb"#, source, target)
    } else {
      notes.append("mdb_copy is missing: install lmdb-utils")
    }
    let reflink = #"cp --reflink=always "$1"/data.mdb "$2"/ && sync "$2"/data.mdb"#
    let own = (try? Command.run(["/bin/cp", "--reflink=always", source + "/data.mdb", target + "-probe"]))?.status == 0
    unlink(target + "-probe")
    if own {
      add("cp --reflink, then sync", reflink, source, target)
    } else {
      do {
        let disk = try LoopDisk(in: bench.lab.folder, bytes: 2 * (try StoreFiles.bytes(source)) + (1 << 30))
        defer { disk.remove() }
        try StoreFiles.copy(source, to: disk.path + "/source")
        add("cp --reflink on an XFS image, then sync", reflink, disk.path + "/source", disk.path + "/target")
      } catch {
        notes.append("cp --reflink is missing: this file system has none, and there is no XFS image: \(error)")
      }
    }
    return table.text + notes.map { "\n\($0)\n" }.joined()
  }
}

/// A file system with reflinks, in a loop-mounted file.
private struct LoopDisk {
  let path: String
  private let image: String

  init(in folder: String, bytes count: Int) throws {
    image = folder + "/disk.xfs"
    path = folder + "/disk"
    guard getuid() == 0 else { throw PeerFailure("that needs root") }
    guard let make = Command.find("mkfs.xfs") else { throw PeerFailure("install xfsprogs") }
    guard let mount = Command.find("mount") else { throw PeerFailure("there is no mount") }
    for command in [
      ["/bin/mkdir", "-p", path], ["/usr/bin/truncate", "-s", "\(count)", image],
      [make, "-q", "-m", "reflink=1", image], [mount, "-o", "loop", image, path],
    ] {
      let result = try Command.run(command, timeout: 60)
      guard result.status == 0 else {
        unlink(image)
        rmdir(path)
        throw PeerFailure("\(command[0]): \(result.errors.split(separator: "\n").last ?? "")")
      }
    }
  }

  func remove() {
    if let umount = Command.find("umount") { _ = try? Command.run([umount, path], timeout: 60) }
    unlink(image)
    rmdir(path)
  }
}
