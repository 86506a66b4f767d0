import Foundation

/// The system calls of a process between two marks that concern the files of one folder, from a trace of strace.
package struct SystemCallTrace {
  /// The number of calls by name.
  package private(set) var counts: [String: Int] = [:]
  package private(set) var bytesWritten = 0
  /// The number of syncs: calls to fsync and fdatasync, and writes through a descriptor with O_SYNC or O_DSYNC.
  package private(set) var syncCount = 0
  /// The number of transactions acknowledged by a mark.
  package private(set) var acknowledgements = 0
  /// The number of acknowledgements without a sync that began after the same task's previous acknowledgement and ended
  /// before this one. Their transactions were not durable when they returned.
  package private(set) var unsyncedAcknowledgements = 0
  /// Whether all writes to the main file were synced.
  package private(set) var reachesDisk = false

  private static let calls =
    "openat,pwrite64,pwritev,pwritev2,write,writev,fsync,fdatasync,sync_file_range,msync,sync,syncfs"

  /// A command that runs another one under strace and writes a trace.
  package static func wrapper(strace: String, output: String) -> [String] {
    [strace, "-f", "-y", "-qq", "-s", "32", "-e", "trace=\(calls)", "-o", output]
  }

  /// The writes and syncs of a file.
  private struct FileState {
    var written = 0
    var unsynced = 0
    var isSynced = false
  }

  /// Parses a trace, limited to calls between the marks on files of the folder.
  package init(_ trace: String, folder: String) {
    var files: [Substring: FileState] = [:]
    var waiting: [Substring: (name: Substring, descriptor: Substring, file: Substring, begin: Int)] = [:]
    var synchronous: Set<Substring> = []
    var isBetween = false
    var acknowledged: [Substring: Int] = [:]
    // The line number of the start of the latest completed sync.
    var lastSync = -1
    for (number, line) in trace.split(separator: "\n").enumerated() {
      if line.contains("openat(") {
        Self.note(opening: line, in: &synchronous)
        continue
      }
      if line.contains(Marks.begin) {
        isBetween = true
        continue
      }
      if line.contains(Marks.end) { break }
      guard isBetween else { continue }
      if let mark = line.range(of: Marks.acknowledgement) {
        // The resumed line of an interrupted call does not contain the mark, so each mark is counted once.
        let task = line[mark.upperBound...].prefix(while: \.isNumber)
        acknowledgements += 1
        if lastSync <= acknowledged[task] ?? -1 { unsyncedAcknowledgements += 1 }
        acknowledged[task] = number
        continue
      }
      let process = line.prefix { $0 != " " }
      let rest = line.dropFirst(process.count).drop { $0 == " " }
      var call: (name: Substring, descriptor: Substring, file: Substring, begin: Int)
      if rest.hasPrefix("<... ") {
        // The call began on an earlier line, and was interrupted by a call of another thread.
        guard let begun = waiting.removeValue(forKey: process) else { continue }
        call = begun
      } else {
        guard let start = rest.firstIndex(of: "<"), rest[start...].dropFirst().hasPrefix(folder) else { continue }
        let name = rest.prefix { $0 != "(" }
        let descriptor = rest.dropFirst(name.count + 1).prefix { $0 != "<" }
        call = (name, descriptor, rest[start...].dropFirst().prefix { $0 != ">" }, number)
        if rest.hasSuffix("<unfinished ...>") {
          waiting[process] = call
          continue
        }
      }
      counts[String(call.name), default: 0] += 1
      if call.name == "fsync" || call.name == "fdatasync" {
        syncCount += 1
        lastSync = max(lastSync, call.begin)
        files[call.file, default: FileState()].isSynced = true
        files[call.file, default: FileState()].unsynced = 0
      } else if call.name.contains("write"), let answer = line.range(of: " = ", options: .backwards),
        let count = Int(line[answer.upperBound...])
      {
        if synchronous.contains(call.descriptor) {
          syncCount += 1
          lastSync = max(lastSync, call.begin)
        }
        bytesWritten += count
        files[call.file, default: FileState()].written += count
        files[call.file, default: FileState()].unsynced += count
      }
    }
    // The main file is the data file or the log; the other files can be rebuilt. LMDB writes its meta page, with less
    // than a page, after the sync, through a descriptor with O_DSYNC.
    let all = bytesWritten
    reachesDisk = files.values.contains { $0.isSynced && $0.unsynced <= 4_096 && $0.written * 4 >= all }
  }

  /// Registers a synchronous descriptor, and removes one that is reused for another file.
  private static func note(opening line: Substring, in synchronous: inout Set<Substring>) {
    guard let answer = line.range(of: " = ", options: .backwards) else { return }
    let descriptor = line[answer.upperBound...].prefix { $0.isNumber }
    if line.contains("O_DSYNC") || line.contains("O_SYNC") {
      synchronous.insert(descriptor)
    } else {
      synchronous.remove(descriptor)
    }
  }
}

/// Marks in the stream of system calls.
package enum Marks {
  package static let begin = "kvclone-benchmark-begin"
  package static let end = "kvclone-benchmark-end"
  /// The start of a mark for the return of a durable transaction; the number of the task follows.
  package static let acknowledgement = "kvclone-benchmark-ack-"

  package static func acknowledge(task: Int) { write(acknowledgement + "\(task)") }

  package static func write(_ mark: String) {
    let file = open("/dev/null", O_WRONLY | O_CLOEXEC)
    _ = mark.withCString { Glibc.write(file, $0, strlen($0)) }
    close(file)
  }
}
