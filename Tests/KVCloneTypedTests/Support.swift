import Foundation
import KVClone
import KVCloneOperations
import Testing

import class KVCloneTestSupport.TestStore

/// A store of the notebook model and a temporary folder, both removed after the test.
final class Notebook {
  private let test: TestStore
  var folder: String { test.root }
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(.notebook) }
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
