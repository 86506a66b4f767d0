import ArgumentParser
import Foundation
import KVClone
import KVCloneOperations

struct BlobCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blob", abstract: "Reads and writes binary values of any size as streams.",
    examples: ["kvclone -s photos.kvclone blob get Photo/1 image -o photo.bmp"],
    subcommands: [Get.self, Put.self])

  struct Get: ReadingCommand {
    static let configuration = CommandConfiguration(
      commandName: "get", abstract: "Writes the bytes of a binary value to stdout or to a file.",
      examples: [
        "kvclone -s photos.kvclone blob get Photo/1 image -o photo.bmp",
        "kvclone -s photos.kvclone blob get Photo/1 image | sha256sum",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The object.", valueName: "id"), completion: StoreCompletion.objects)
    var id: String

    @Argument(help: ArgumentHelp("The attribute.", valueName: "attribute"))
    var attribute: String

    @Option(
      name: [.short, .long],
      help: ArgumentHelp("Write to this file, which appears only when complete (default: stdout).", valueName: "file"),
      completion: .file())
    var output: String?

    func run(_ store: ObjectStore) throws {
      guard let path = output else {
        let output = Output()
        _ = try read(store) { try output.write($0) }
        return try output.flush()
      }
      var size: UInt64 = 0
      try TransferFiles.requireWritable(path)
      try Interruption.writeFile(path) { handle in
        size = try read(store) { bytes in
          try bytes.withUnsafeBytes { try handle.write(contentsOf: Data($0)) }
        }
      }
      if global.json { try BlobCommand.report(id, attribute, size) }
    }

    private func read(_ store: ObjectStore, _ body: (RawSpan) throws -> Void) throws -> UInt64 {
      try store.read { transaction in
        let object = try transaction.objectID(named: id)
        guard let size = try transaction.readData(object, attribute, body) else {
          throw Failure(
            "noValue", "\(id).\(attribute) is nil, so it has no bytes to read", property: attribute, object: id)
        }
        return size
      }
    }
  }

  struct Put: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "put", abstract: "Sets a binary value to the bytes of a file.",
      examples: [
        "kvclone -s photos.kvclone blob put Photo/1 image photo.bmp",
        "curl -s \"$URL\" | kvclone -s photos.kvclone blob put Photo/1 image -",
      ])

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The object.", valueName: "id"), completion: StoreCompletion.objects)
    var id: String

    @Argument(help: ArgumentHelp("The attribute.", valueName: "attribute"))
    var attribute: String

    @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "file"), completion: .file())
    var file: String

    func run() throws {
      if file == "-" { try StandardInput.check() }
      let store = try global.openStore(isReadOnly: false)
      defer { GlobalOptions.close(store) }
      // After the store is open: its files are known only then.
      let source = try source()
      let size = try source.isFile ? write(source.next, store) : stage(source.next, store)
      if global.json { try BlobCommand.report(id, attribute, size) }
    }

    private func write(_ next: () throws -> Data?, _ store: ObjectStore) throws -> UInt64 {
      var size: UInt64 = 0
      try store.write(label: "blob put") { transaction in
        let object = try transaction.objectID(named: id)
        try transaction.setData(object, attribute) { writer in
          while let data = try next() {
            try writer.append(data)
            size += UInt64(data.count)
          }
        }
      }
      return size
    }

    /// A pipe may be slow, or wait for a user: its bytes are staged without blocking other writers.
    private func stage(_ next: () throws -> Data?, _ store: ObjectStore) throws -> UInt64 {
      // Detects wrong names before reading the input.
      let object = try store.read { transaction in
        let object = try transaction.objectID(named: id)
        try transaction.checkIsBinary(object, attribute)
        return object
      }
      let staged = try store.stageBlob { writer in
        while let data = try next() { try writer.append(data) }
      }
      try store.write(label: "blob put") { transaction in try transaction.setData(object, attribute, staged) }
      return staged.byteCount
    }

    /// Returns the next bytes at each call, nil at the end.
    ///
    /// - Returns: also whether they come from a regular file, which is fast enough to be read in a transaction.
    private func source() throws -> (isFile: Bool, next: () throws -> Data?) {
      if file == "-" { return (StandardInput.isRegularFile, StandardInput.next) }
      let (handle, file) = (try TransferFiles.open(file, file), file)
      return (try TransferFiles.isRegular(handle, file), { try TransferFiles.next(from: handle, file) })
    }
  }

  private static func report(_ id: String, _ attribute: String, _ size: UInt64) throws {
    try Output().json { json in
      json.member("id", id)
      json.member("attribute", attribute)
      json.member("size", size)
    }
  }
}
