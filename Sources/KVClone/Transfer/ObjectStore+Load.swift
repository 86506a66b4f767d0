import Foundation
import KVCloneModel

extension ObjectStore {
  /// Inserts the objects of NDJSON text, and links them as it says. Ids in the text only connect its lines; the store
  /// gives its own. `"@Note/12"` in a relationship is an object that the store has already.
  ///
  /// Without ``LoadOptions/batch`` everything happens in one write transaction: all of it is loaded, or nothing.
  ///
  /// - Parameters:
  ///   - source: Appends the next bytes of the text to the array, and returns false at its end.
  ///   - options: how to load.
  /// - Throws: ``TransferError`` with the line; ``StoreError`` where the store itself is the obstacle; what `source`
  ///   throws.
  @available(*, noasync)
  public func load(
    _ options: LoadOptions = LoadOptions(), from source: (inout [UInt8]) throws -> Bool
  ) throws -> LoadResult {
    let session = LoadSession(
      model: model, modelHash: try info().modelHash, options: options, directory: path)
    var hasMore = true
    while hasMore {
      do {
        hasMore = try write(label: "load") { transaction in
          transaction.operation = "load"
          let hasMore = try session.loadBatch(&transaction, from: source)
          options.commitObserver?(.begins)
          return hasMore
        }
      } catch {
        options.commitObserver?(.failed)
        throw session.transferError(error)
      }
      session.endBatch()
      options.commitObserver?(.succeeded(objectCount: session.committedCount))
    }
    return session.result
  }

  /// Loads a file; its directory is where `{"file":"…"}` values are looked for.
  @available(*, noasync)
  public func load(contentsOf path: String, options: LoadOptions = LoadOptions()) throws -> LoadResult {
    var options = options
    options.baseDirectory = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var isDirectory: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    guard !isDirectory.boolValue else {
      throw TransferError(.invalidFile, "\(path) is a directory; name the file in it")
    }
    guard exists else {
      throw TransferError(.invalidFile, "\(path) does not exist; check its name")
    }
    let handle = try TransferFiles.open(path, path)
    defer { try? handle.close() }
    return try load(options) { buffer in
      guard let data = try TransferFiles.next(from: handle, path) else { return false }
      buffer.append(contentsOf: data)
      return true
    }
  }
}
