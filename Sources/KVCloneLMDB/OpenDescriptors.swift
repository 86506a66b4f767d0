import Glibc

/// The files that this process has open, as the kernel tells.
enum OpenDescriptors {
  /// Where there is no /proc, so many are looked at.
  private static let limitWithoutProc: Int32 = 4096

  /// Whether the file is open, and is one of those beside a store's data.
  static func includeStoreFile(_ file: FileSystem.Identity, besides ignored: Int32?) -> Bool {
    var result = false
    forEach { descriptor in
      guard !result, descriptor != ignored, let facts = try? FileSystem.facts(descriptor: descriptor),
        facts.identity == file
      else { return }
      result = isStoreFile(descriptor)
    }
    return result
  }

  private static func forEach(_ body: (Int32) -> Void) {
    let names = FileSystem.names(inDirectory: "/proc/self/fd")
    if names.isEmpty {
      for descriptor in 0..<limitWithoutProc { body(descriptor) }
    } else {
      for name in names { if let descriptor = Int32(name) { body(descriptor) } }
    }
  }

  /// By the name that it was opened by. One that the kernel does not tell could be anything, and counts as a store's.
  private static func isStoreFile(_ descriptor: Int32) -> Bool {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/fd/\(descriptor)", &path, path.count)
    guard count > 0 else { return true }
    let text = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let name = text.split(separator: "/").last.map(String.init) ?? ""
    // A file that was removed is told as "NAME (deleted)".
    return StorePaths("").fileNames.contains { name == $0 || name == $0 + " (deleted)" }
  }
}

extension StorePaths {
  /// The names of the files, without the directory.
  fileprivate var fileNames: [String] {
    [data, readerLock, writerLock, stagerLock].map { String($0.dropFirst(directory.utf8.count + 1)) }
  }
}
