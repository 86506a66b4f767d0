package import Foundation
package import KVClone
package import KVCloneCore
import KVCloneOperations
import KVCloneRecords
package import Testing

/// Creates a directory that only this user can access; the caller removes it.
package func temporaryDirectory() throws -> String {
  let root = NSTemporaryDirectory() + "/kvclone-" + UUID().uuidString
  try FileManager.default.createDirectory(
    atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  return root
}

/// Checks the whole store, by its own check and by the public interface alone: every link must have its inverse, every
/// count must be right, and no link may dangle.
package func checked(_ store: ObjectStore, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let damages = try store.check().issues
  #expect(damages.isEmpty, "\(damages.prefix(5).map(\.message))", sourceLocation: sourceLocation)
  let problems = try store.linkProblems()
  #expect(problems.isEmpty, "\(problems.prefix(5))", sourceLocation: sourceLocation)
}

/// Runs `body`, expects a store error of this kind, and returns it.
@discardableResult
package func expectError(
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

/// Runs `body`, expects that its commit is rejected, and returns the issues as `kind entity.property`, sorted.
package func expectIssues(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> [String] {
  do {
    try body()
    Issue.record("the commit was not refused", sourceLocation: sourceLocation)
  } catch let error as ValidationError {
    #expect(error.issues.allSatisfy { $0.object.hasPrefix($0.entity + "/") && !$0.message.isEmpty })
    return error.issues.map { "\($0.kind) \($0.entity).\($0.property)" }.sorted()
  } catch {
    Issue.record("\(error) instead of a validation error", sourceLocation: sourceLocation)
  }
  return []
}

/// Transactions of a single operation.
extension ObjectStore {
  @discardableResult
  package func insert(
    _ entity: String, _ attributes: [String: AttributeValue?] = [:], relationships: [String: [ObjectID]] = [:]
  ) throws -> ObjectID {
    try write { tx in try tx.insert(entity, attributes, relationships: relationships) }
  }

  package func insert(_ entity: String, count: Int) throws -> [ObjectID] {
    try write { tx in
      var ids: [ObjectID] = []
      for _ in 0..<count { ids.append(try tx.insert(entity)) }
      return ids
    }
  }

  package func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) throws {
    try write { tx in try tx.set(id, attribute, value) }
  }

  package func setMembers(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]) throws {
    try write { tx in try tx.setMembers(id, relationship, targets) }
  }

  package func setToOne(_ id: ObjectID, _ relationship: String, _ target: ObjectID?) throws {
    try write { tx in try tx.setToOne(id, relationship, target) }
  }

  package func link(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID], at index: Int? = nil) throws {
    try write { tx in try tx.link(id, relationship, targets, at: index) }
  }

  package func unlink(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]? = nil) throws {
    try write { tx in try tx.unlink(id, relationship, targets) }
  }

  @discardableResult
  package func delete(_ ids: [ObjectID]) throws -> Int {
    try write { tx in try tx.delete(ids).deletedCount }
  }

  package func object(_ id: ObjectID) throws -> ManagedObject { try read { tx in try tx.object(id) } }

  package func exists(_ id: ObjectID) throws -> Bool { try read { tx in try tx.exists(id) } }

  package func value(_ id: ObjectID, _ attribute: String) throws -> AttributeValue? {
    try read { tx in try tx.value(id, attribute) }
  }

  package func data(_ id: ObjectID, _ attribute: String) throws -> Data? {
    try read { tx in try tx.data(id, attribute) }
  }

  package func members(_ id: ObjectID, _ relationship: String) throws -> [ObjectID] {
    try read { tx in try tx.members(id, relationship) }
  }

  package func toOne(_ id: ObjectID, _ relationship: String) throws -> ObjectID? {
    try read { tx in try tx.toOne(id, relationship) }
  }

  package func count(_ id: ObjectID, _ relationship: String) throws -> Int {
    try read { tx in try tx.count(id, relationship) }
  }

  package func objects(_ entity: String) throws -> [ObjectID] {
    try read { tx in
      var ids: [ObjectID] = []
      try tx.forEachObject(of: entity) { object in
        ids.append(object.id)
        return true
      }
      return ids
    }
  }

  /// Returns the number of blobs in the store, referenced or not.
  package func blobCount() throws -> Int {
    try read { tx in
      try tx._withSession { (session) throws(StoreError) in
        var count = 0
        let key = ShortKey.blobInfo(0)
        try session.storage.scanToEnd(of: session.schema.tables.blobinfo, from: key.bytes) {
          (_, _) throws(StoreError) in
          count += 1
          return true
        }
        return count
      }
    }
  }

  /// Returns the link errors that are visible by the public interface.
  package func linkProblems() throws -> [String] {
    let model = self.model
    return try read { tx in
      var problems: [String] = []
      for entity in model.entities where !entity.isAbstract {
        var ids: [ObjectID] = []
        try tx.forEachObject(of: entity.name, includesSubentities: false) { object in
          ids.append(object.id)
          return true
        }
        for relationship in model.relationships(of: entity.name) where !relationship.isTransient {
          let inverse = model.inverse(of: relationship.name, in: entity.name)?.relationship.name
          for id in ids {
            let members = try tx.members(id, relationship.name)
            let place = "\(entity.name)/\(id.serial).\(relationship.name)"
            if members.count != (try tx.count(id, relationship.name)) { problems.append("\(place) has a wrong count") }
            if Set(members).count != members.count { problems.append("\(place) has a member twice") }
            for member in members {
              guard try tx.exists(member) else {
                problems.append("\(place) dangles")
                continue
              }
              if let inverse, !(try tx.members(member, inverse)).contains(id) {
                problems.append("\(place) has no other side")
              }
            }
          }
        }
      }
      return problems
    }
  }
}

/// Returns the length of a file in bytes, or nil if it does not exist.
package func byteCount(ofFile path: String) throws -> Int? {
  (try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue
}
