import Foundation

/// What a process asked of the kernel between two marks, about the files of one folder, as strace saw it.
package struct SystemCallTrace {
  /// How often each call was made.
  package private(set) var counts: [String: Int] = [:]
  package private(set) var bytesWritten = 0
  /// How often the kernel was asked to bring something to the disk: calls to fsync and fdatasync, and writes through a
  /// descriptor that is open with O_SYNC or O_DSYNC.
  package private(set) var syncCount = 0
  /// How many transactions were acknowledged by a mark.
  package private(set) var acknowledgements = 0
  /// How many of them were acknowledged without a sync that began after the same task's previous acknowledgement and
  /// ended before this one: such a transaction was not durable when it returned.
  package private(set) var unsyncedAcknowledgements = 0
  /// Whether all of what was written to the main file was synced.
  package private(set) var reachesDisk = false

  private static let calls =
    "openat,pwrite64,pwritev,pwritev2,write,writev,fsync,fdatasync,sync_file_range,msync,sync,syncfs"

  /// The words before a command that let strace write a trace of it.
  package static func wrapper(strace: String, output: String) -> [String] {
    [strace, "-f", "-y", "-qq", "-s", "32", "-e", "trace=\(calls)", "-o", output]
  }

  /// What a file of the folder was given.
  private struct FileState {
    var written = 0
    var unsynced = 0
    var isSynced = false
  }

  /// Reads a trace: only what lies between the marks, and concerns files of the folder.
  package init(_ trace: String, folder: String) {
    var files: [Substring: FileState] = [:]
    var waiting: [Substring: (name: Substring, descriptor: Substring, file: Substring, begin: Int)] = [:]
    var synchronous: Set<Substring> = []
    var isBetween = false
    var acknowledged: [Substring: Int] = [:]
    // Where the last sync began of those that have ended, as the number of a line.
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
        // The end of a call that was interrupted does not show what was written: each is seen once.
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
        // It began on an earlier line, which another thread's call interrupted.
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
    // The file that holds the clone: the data file, or a log. What is written to others can be made from it. LMDB writes
    // its meta page, which is less than a page, after the sync, through a descriptor that is open with O_DSYNC.
    let all = bytesWritten
    reachesDisk = files.values.contains { $0.isSynced && $0.unsynced <= 4_096 && $0.written * 4 >= all }
  }

  /// Remembers a descriptor that writes through, and forgets one whose number is given to another file.
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

/// Lines in the stream of system calls.
package enum Marks {
  package static let begin = "kvclone-benchmark-begin"
  package static let end = "kvclone-benchmark-end"
  /// The begin of a mark that a durable transaction has returned to its task; the number of the task follows.
  package static let acknowledgement = "kvclone-benchmark-ack-"

  package static func acknowledge(task: Int) { write(acknowledgement + "\(task)") }

  package static func write(_ mark: String) {
    let file = open("/dev/null", O_WRONLY | O_CLOEXEC)
    _ = mark.withCString { Glibc.write(file, $0, strlen($0)) }
    close(file)
  }
}
