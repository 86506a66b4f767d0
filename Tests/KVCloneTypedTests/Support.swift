import Foundation
import KVClone
import KVCloneOperations
import Testing

/// A store of the notebook model in a temporary folder, both removed after the test.
final class Notebook {
  let folder = NSTemporaryDirectory() + "/kvclone-typed-" + UUID().uuidString
  let store: ObjectStore

  init() throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    store = try ObjectStore.create(at: folder + "/test.kvclone", model: .notebook)
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// Checks the whole store.
func checked(_ store: ObjectStore, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let damages = try store.check().issues
  #expect(damages.isEmpty, "\(damages.prefix(5).map(\.message))", sourceLocation: sourceLocation)
}

/// Runs `body`, expects a store error of this kind, and returns it.
@discardableResult
func expectError(
  _ kind: StoreError.Kind, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> StoreError? {
  do {
    try body()
    Issue.record("nothing was thrown instead of \(kind)", sourceLocation: sourceLocation)
  } catch let error as StoreError {
    #expect(error.kind == kind, "\(error.message)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record("\(error) instead of \(kind)", sourceLocation: sourceLocation)
  }
  return nil
}
