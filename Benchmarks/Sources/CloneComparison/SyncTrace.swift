import BenchmarkSupport
import Foundation

/// Looks at a clone's system calls with strace: what was written to the store's files, and synced, before it returned.
struct SyncTrace {
  let lab: Lab

  private static let calls =
    "pwrite64,pwritev,pwritev2,write,writev,fsync,fdatasync,sync_file_range,msync,sync,syncfs"

  func look(at run: Run, _ source: String, _ recipe: GraphRecipe) throws -> SyncResult {
    guard let strace = Command.find("strace") else { throw PeerFailure("strace is not installed") }
    let trace = lab.folder + "/trace"
    defer { unlink(trace) }
    let wrapper = [strace, "-f", "-y", "-qq", "-s", "32", "-e", "trace=\(Self.calls)", "-o", trace]
    _ = try lab.measure(run, source, recipe, wrapper: wrapper) { request in
      request.marks = true
      request.samplesMemory = false
      request.warmUpPath = nil
    }
    guard let text = FileManager.default.contents(atPath: trace) else { throw PeerFailure("strace wrote nothing") }
    return Self.read(String(decoding: text, as: UTF8.self), run.peer, folder: lab.folder)
  }

  /// What a file of the store was given.
  private struct FileState {
    var written = 0
    var unsynced = 0
    var isSynced = false
  }

  /// Reads a trace: only what lies between the marks, and concerns files of the folder.
  static func read(_ trace: String, _ peer: Peer, folder: String) -> SyncResult {
    var result = SyncResult(peer: peer, calls: [:], bytesWritten: 0, reachesDisk: false)
    var files: [Substring: FileState] = [:]
    var waiting: [Substring: (name: Substring, file: Substring)] = [:]
    var isBetween = false
    for line in trace.split(separator: "\n") {
      if line.contains(Marks.begin) {
        isBetween = true
        continue
      }
      if line.contains(Marks.end) { break }
      guard isBetween else { continue }
      let process = line.prefix { $0 != " " }
      let rest = line.dropFirst(process.count).drop { $0 == " " }
      var call: (name: Substring, file: Substring)
      if rest.hasPrefix("<... ") {
        // It began on an earlier line, which another thread's call interrupted.
        guard let begun = waiting.removeValue(forKey: process) else { continue }
        call = begun
      } else {
        guard let start = rest.firstIndex(of: "<"), rest[start...].dropFirst().hasPrefix(folder) else { continue }
        call = (rest.prefix { $0 != "(" }, rest[start...].dropFirst().prefix { $0 != ">" })
        if rest.hasSuffix("<unfinished ...>") {
          waiting[process] = call
          continue
        }
      }
      result.calls[String(call.name), default: 0] += 1
      if call.name == "fsync" || call.name == "fdatasync" {
        files[call.file, default: FileState()].isSynced = true
        files[call.file, default: FileState()].unsynced = 0
      } else if call.name.contains("write"), let answer = line.range(of: " = ", options: .backwards),
        let count = Int(line[answer.upperBound...])
      {
        result.bytesWritten += count
        files[call.file, default: FileState()].written += count
        files[call.file, default: FileState()].unsynced += count
      }
    }
    // The file that holds the clone: the data file, or a log. What is written to others can be made from it. LMDB writes
    // its meta page, which is less than a page, after the sync, through a descriptor that is open with O_DSYNC.
    result.reachesDisk = files.values.contains { file in
      file.isSynced && file.unsynced <= 4_096 && file.written * 4 >= result.bytesWritten
    }
    return result
  }
}
