import Foundation

/// A disk that loses power: it applies a journal up to some entry, and then writes a possible state after the power
/// loss.
///
/// The model is the weakest guarantee of POSIX. Written bytes arrive in any order and in part, until the file is
/// synced. Created, renamed and removed names arrive in any order, until their directory is synced; a synced file can
/// lose its name.
final class SimulatedDisk {
  /// A directory: the names visible to programs, and those on the disk.
  private final class Directory {
    var live: [String: Node] = [:]
    var durable: [String: Node] = [:]
  }

  private enum Node {
    case file(SimulatedFile)
    case directory(Directory)
  }

  /// One change of names. A rename is one change: both of its names arrive, or neither.
  private struct NameChange {
    struct Edit {
      let directory: Directory
      let name: String
      /// The new target of the name; nil removes the name.
      let node: Node?
    }
    let edits: [Edit]
  }

  private let journal: Journal
  private let root = Directory()
  private var directories: [UInt64: Directory] = [:]
  private var files: [UInt64: SimulatedFile] = [:]
  private var nameChanges: [NameChange] = []
  /// The last acknowledged commit, −1 for none.
  private(set) var acknowledged = -1
  /// The names of the acknowledged copies.
  private(set) var copied: [String] = []

  /// Applies the first `count` entries of the journal. The generator determines only the effects of failed syncs.
  init(_ journal: Journal, upTo count: Int, _ random: inout SeededGenerator) {
    self.journal = journal
    for entry in journal.entries.prefix(count) { follow(entry, &random) }
  }

  private func follow(_ entry: Journal.Entry, _ random: inout SeededGenerator) {
    switch entry {
    case .write(let file, let offset, let bytes, false): files[file]?.write(bytes, at: offset)
    case .write(let file, let offset, let bytes, true): files[file]?.writeDurably(bytes, at: offset, journal)
    case .sync(let file): files[file]?.sync(journal)
    case .lostSync(let file): files[file]?.loseChanges(journal, &random)
    case .truncate(let file, let length): files[file]?.truncate(length)
    case .newFile(let inode, let path):
      let file = SimulatedFile()
      files[inode] = file
      change([(path, .file(file))])
    case .newDirectory(let inode, let path):
      let directory = Directory()
      directories[inode] = directory
      change([(path, .directory(directory))])
    case .rename(let from, let to):
      let (parent, name) = place(from)
      guard let node = parent?.live[name] else { return }
      change([(from, nil), (to, node)])
    case .unlink(let path): change([(path, nil)])
    case .syncDirectory(let inode): syncNames(of: directories[inode] ?? root)
    case .spill: break
    case .acknowledge(let line):
      if let known = Acknowledgement(line: line) { acknowledged = max(acknowledged, known.number) }
      if line.hasPrefix("copied ") { copied.append(line.dropFirst(7).trimmingCharacters(in: .newlines)) }
    }
  }

  private func place(_ path: String) -> (parent: Directory?, name: String) {
    let names = path.split(separator: "/").map(String.init)
    var directory: Directory? = root
    for name in names.dropLast() {
      if case .directory(let next)? = directory?.live[name] { directory = next } else { directory = nil }
    }
    return (directory, names.last ?? "")
  }

  private func change(_ names: [(path: String, node: Node?)]) {
    let edits = names.compactMap { path, node -> NameChange.Edit? in
      let (parent, name) = place(path)
      return parent.map { NameChange.Edit(directory: $0, name: name, node: node) }
    }
    for edit in edits { edit.directory.live[edit.name] = edit.node }
    nameChanges.append(NameChange(edits: edits))
  }

  private func syncNames(of directory: Directory) {
    nameChanges.removeAll { change in
      guard change.edits.contains(where: { $0.directory === directory }) else { return false }
      for edit in change.edits { edit.directory.durable[edit.name] = edit.node }
      return true
    }
  }

  // MARK: After the power loss

  /// Writes the remaining files into an empty directory.
  func write(to path: String, after loss: PowerLoss, _ random: inout SeededGenerator) throws {
    var isOver = false
    for change in nameChanges {
      let isKept = loss.keepsSome(&random)
      // With ordered names, nothing arrives after the first lost change.
      if loss.keepsOrderOfNames, !isKept { isOver = true }
      guard isKept, !isOver else { continue }
      for edit in change.edits { edit.directory.durable[edit.name] = edit.node }
    }
    try write(root, to: path, after: loss, &random)
  }

  private func write(
    _ directory: Directory, to path: String, after loss: PowerLoss, _ random: inout SeededGenerator
  ) throws {
    // Sorted, because the order determines the use of random numbers.
    for (name, node) in directory.durable.sorted(by: { $0.key < $1.key }) {
      let place = "\(path)/\(name)"
      switch node {
      case .file(let file):
        let content = file.content(after: loss, journal, &random)
        let isMade = FileManager.default.createFile(
          atPath: place, contents: content.withUnsafeBytes { Data($0) }, attributes: [.posixPermissions: 0o600])
        guard isMade else { throw Finding("cannot write \(place)") }
      case .directory(let inner):
        try FileManager.default.createDirectory(
          atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try write(inner, to: place, after: loss, &random)
      }
    }
  }
}
