import KVCloneModel
import Synchronization

/// The rule books of a store's model that were used last: compiling one takes as long as cloning some dozens of objects,
/// and a service asks for the same few again and again.
final class CloneRuleCache: Sendable {
  /// Rule books that are kept: more than a service has kinds of calls, fewer than would matter for memory.
  private static let limit = 32

  /// What a rule book depends on.
  private struct Key: Hashable {
    let roots: [UInt16]
    let excluded: [String]
    let passingExclusionList: Bool
    let rules: [String: RelationshipCloneRule.Override]
    let userInfoKeys: CloneUserInfoKeys
    let references: CloneOptions.References
    let blobs: CloneOptions.Blobs
  }

  private let books = Mutex<[Key: CloneRuleBook]>([:])

  /// The rules of a call.
  func book(_ schema: Schema, _ options: CloneOptions, rootEntities: [CompiledEntity]) -> CloneRuleBook {
    // What a hook answers is nobody else's rule.
    if options.willClone != nil {
      return CloneRuleBook(schema: schema, options: options, rootEntities: rootEntities)
    }
    let key = Key(
      roots: Set(rootEntities.map(\.code)).sorted(), excluded: options.excludedRelationshipNames,
      passingExclusionList: options.passingExclusionList, rules: options.rules, userInfoKeys: options.userInfoKeys,
      references: options.references, blobs: options.blobs)
    if let known = books.withLock({ $0[key] }) { return CloneRuleBook(sharing: known, options: options) }
    var bare = options
    // Closures may hold on to anything.
    bare.didClone = nil
    bare.progress = nil
    let book = CloneRuleBook(schema: schema, options: bare, rootEntities: rootEntities)
    books.withLock { books in
      if books.count >= Self.limit { books.removeAll() }
      books[key] = book
    }
    return CloneRuleBook(sharing: book, options: options)
  }
}
