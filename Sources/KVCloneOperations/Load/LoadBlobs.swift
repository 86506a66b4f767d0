import KVCloneCore
import KVCloneLMDB
import KVCloneModel

/// The blobs of files in a load: objects with lines that refer to the same file share its blob, like the dumped objects
/// did.
///
/// Files are identified by their numbers in a dump, `blobs/blob-12`, because memory may not suffice for all names. A
/// file with another name is loaded for each object that refers to it.
final class LoadBlobs {
  /// The path before the number: the same for all files of a dump.
  private var stem: String?
  /// By file number; with the serials of blobs in place of objects' ids.
  private let labels: LoadLabels

  /// - Parameter keepsDefined: whether batches may be loaded again.
  init(in space: ScratchSpace, keepsDefined: Bool) { labels = LoadLabels(in: space, keepsDefined: keepsDefined) }

  /// The index of a file; nil for files without one.
  func place(of file: String, line: Int) throws(StoreError) -> UInt32? {
    guard let dash = file.utf8.lastIndex(of: UInt8(ascii: "-")) else { return nil }
    let (stem, digits) = (file[...dash], file[file.utf8.index(after: dash)...])
    // A number with leading zeros is the name of another file.
    guard stem.hasSuffix("blob-"), let number = UInt64(digits), String(number) == digits else { return nil }
    if self.stem == nil { self.stem = String(stem) }
    // Bytewise: names that look alike may be different files.
    guard self.stem?.utf8.elementsEqual(stem.utf8) == true else { return nil }
    return try labels.number(entity: 0, serial: number, line: line)
  }

  /// The serial of the blob at an index.
  func serial(at place: UInt32) -> UInt64? {
    labels.isDefined(place) ? labels.ids[Int(place)].rawValue : nil
  }

  /// Discards the blobs of the batch's lines.
  func restartBatch() { labels.restartBatch() }

  /// Keeps the blobs of the batch's lines.
  func endBatch() { labels.endBatch() }

  func note(_ serial: UInt64, at place: UInt32, line: Int) throws(StoreError) {
    try labels.define(place, as: ObjectID(rawValue: serial), line: line)
  }
}
