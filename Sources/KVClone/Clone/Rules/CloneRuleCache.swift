import KVCloneCore
import KVCloneModel
import Synchronization

/// The recently used rule books of a store's model: compiling one takes as long as cloning some dozens of objects, and
/// a service repeats the same few.
final class CloneRuleCache: Attachment {
  /// The number of cached rule books: more than a service has kinds of calls, and little memory.
  private static let limit = 32

  /// The inputs of a rule book.
  private struct Key: Hashable {
    let roots: [UInt16]
    let excluded: [String]
    let passingExclusionList: Bool
    let rules: [String: CloneRule]
    let userInfoKeys: CloneUserInfoKeys
    let references: CloneOptions.References
    let blobs: CloneOptions.Blobs
  }

  private struct State {
    var books: [Key: CloneRuleBook] = [:]
    /// The rule book of the last call without closures, for an equal next one.
    var last: (roots: [UInt16], book: CloneRuleBook)?
  }

  private let state = Mutex(State())

  /// The rules of a call.
  func book(_ schema: Schema, _ options: CloneOptions, rootEntities: [CompiledEntity]) -> CloneRuleBook {
    // A hook's answers apply only to its call.
    if options.willClone != nil {
      return CloneRuleBook(schema: schema, options: options, rootEntities: rootEntities)
    }
    let roots = rootEntities.count == 1 ? [rootEntities[0].code] : Set(rootEntities.map(\.code)).sorted()
    if let last = state.withLock({ $0.last }), last.roots == roots, last.book.options.isSame(as: options) {
      return last.book
    }
    let key = Key(
      roots: roots, excluded: options.excludedRelationshipNames, passingExclusionList: options.passingExclusionList,
      rules: options.rules, userInfoKeys: options.userInfoKeys, references: options.references, blobs: options.blobs)
    let book = CloneRuleBook(sharing: book(key, schema, options, rootEntities), options: options)
    // Closures may retain anything.
    if !options.hasClosures { state.withLock { $0.last = (roots, book) } }
    return book
  }

  /// The rule book of all calls with these rules.
  private func book(_ key: Key, _ schema: Schema, _ options: CloneOptions, _ rootEntities: [CompiledEntity])
    -> CloneRuleBook
  {
    if let known = state.withLock({ $0.books[key] }) { return known }
    var bare = options
    bare.didClone = nil
    bare.progress = nil
    let book = CloneRuleBook(schema: schema, options: bare, rootEntities: rootEntities)
    state.withLock { state in
      if state.books.count >= Self.limit { state.books.removeAll() }
      state.books[key] = book
    }
    return book
  }
}

extension CloneOptions {
  fileprivate var hasClosures: Bool { willClone != nil || didClone != nil || progress != nil }

  /// Whether two calls have equal options, except for those that calls cannot share.
  fileprivate func isSame(as other: CloneOptions) -> Bool {
    !hasClosures && !other.hasClosures && idempotencyKey == nil && other.idempotencyKey == nil && count == other.count
      && smallLimit == other.smallLimit && passingExclusionList == other.passingExclusionList
      && references == other.references && blobs == other.blobs && maxObjects == other.maxObjects
      && maxDepth == other.maxDepth && maxBytes == other.maxBytes && recordsProvenance == other.recordsProvenance
      && keepsBase == other.keepsBase
      && baseExpiresAt == other.baseExpiresAt
      && outsideObjects == other.outsideObjects && rules == other.rules
      && excludedRelationshipNames == other.excludedRelationshipNames && userInfoKeys == other.userInfoKeys
  }
}

extension CloneRuleBook {
  /// The rules of a call.
  ///
  /// - Throws: `objectNotFound` if a root does not exist.
  static func book(_ roots: [ObjectID], _ options: CloneOptions, in session: borrowing Session) throws -> CloneRuleBook
  {
    let schema = session.schema
    guard !roots.isEmpty else {
      throw CloneError(.objectNotFound, "no objects to clone; pass at least one object id")
    }
    var entities: [CompiledEntity] = []
    for root in roots {
      guard let view = try session.record(root) else {
        throw CloneError(
          .objectNotFound, "the object \(schema.rootName(of: root)) to clone does not exist",
          entity: schema.entity(code: root.rootCode)?.name, object: schema.rootName(of: root))
      }
      entities.append(try schema.entity(of: view, id: root))
    }
    return schema.cloneRules.book(schema, options, rootEntities: entities)
  }
}

extension Schema {
  fileprivate var cloneRules: CloneRuleCache { attachments.value(of: CloneRuleCache.self) }
}
