import KVClone
import KVCloneCore
import KVCloneMerge

/// A merge that a page plans and runs.
enum MergeTarget: Sendable {
  /// The changes of a branch into the store.
  case publish(String)
  /// The changes of the store into a branch.
  case update(String)
  /// The changes of a clone into its sources.
  case draft(ObjectName)

  init(_ context: PageContext) throws {
    if let entity = context.parameters["entity"] {
      guard let serial = UInt64(try context.parameter("serial")) else { throw ExplorerError.notFound }
      self = .draft(ObjectName(entity: entity, serial: serial))
    } else {
      let name = try context.parameter("branch")
      // A branch can have the name of an action.
      let action = context.request.path.split(separator: "/").dropFirst(2).first
      self = action == "update" ? .update(name) : .publish(name)
    }
  }

  /// The name of the action.
  var verb: String {
    switch self {
    case .publish: "Publish"
    case .update: "Update"
    case .draft: "Merge"
    }
  }

  var title: String {
    switch self {
    case .publish(let name), .update(let name): "\(verb) \(name)"
    case .draft(let object): "Merge the draft \(object.text)"
    }
  }

  var section: PageSection { if case .draft = self { .drafts } else { .branches } }

  /// The titles of both sides.
  var sides: (ours: String, theirs: String) {
    switch self {
    case .publish(let name): ("store", name)
    case .update(let name): (name, "store")
    case .draft: ("source", "draft")
    }
  }

  func title(of side: MergeSide) -> String { side == .ours ? sides.ours : sides.theirs }

  var path: [String] {
    switch self {
    case .publish(let name): ["branches", name, "publish"]
    case .update(let name): ["branches", name, "update"]
    case .draft(let object): ["drafts"] + object.segments
    }
  }

  /// Returns the URL of the page of the plan, or of one below it.
  func link(_ context: PageContext, _ last: [String] = [], _ items: [(name: String, value: String?)] = []) -> String {
    let segments = path + last
    if case .draft = self { return context.link(segments, items + [("at", nil)]) }
    return context.link(segments, items + [("at", nil), ("branch", nil)])
  }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    switch self {
    case .publish(let name), .update(let name):
      BranchPage.trail(context) + [(name, context.link(branch: name))]
    case .draft(let object):
      [("Drafts", context.link(["drafts"], [("at", nil)])), (object.text, context.link(to: object, in: ""))]
    }
  }

  // MARK: States

  /// The store or branch that shows the merged objects, and its states.
  struct States: Sendable {
    let store: ObjectStore
    /// Nil for drafts, which have no common base with their sources.
    let base: StoreState?
    let ours: StoreState
    let theirs: StoreState
    /// The branch with the states; nil if it is that of the page.
    let branch: String?
    /// The clones of a draft by their sources.
    var clones: [ObjectID: ObjectID] = [:]

    /// The items of the query of pages at a state.
    func items(_ context: PageContext, of state: StoreState) -> [(name: String, value: String?)] {
      guard let branch, state.origin != .store else { return context.items(of: state.name) }
      return [("branch", branch), ("at", state.name.isEmpty ? nil : state.name)]
    }
  }

  func states(_ context: PageContext) throws -> States {
    switch self {
    case .publish(let name), .update(let name):
      let branch = try context.root.branches.open(name)
      let base = try StoreState(branch, named: StateName.base)
      let store = try StoreState(branch, named: StateName.store)
      if case .update = self {
        return States(store: branch, base: base, ours: .present, theirs: store, branch: name)
      }
      return States(store: branch, base: base, ours: store, theirs: .present, branch: name)
    case .draft(let object):
      var states = States(store: context.store, base: nil, ours: .present, theirs: .present, branch: nil)
      states.clones = try Self.clones(of: try Self.clone(object, context), context.store)
      return states
    }
  }

  private static func clones(of root: ObjectID, _ store: ObjectStore) throws -> [ObjectID: ObjectID] {
    let session = try store.readSession()
    var clones: [ObjectID: ObjectID] = [:]
    guard let draft = try CloneBase.draft(of: root, in: session)?.draft else { return [:] }
    try CloneBase.find(draft.base, in: session)?.forEachClone(in: session) { (clone, entry) throws(StoreError) in
      if entry.draft?.copy == draft.copy { clones[entry.source] = clone }
      return true
    }
    return clones
  }

  // MARK: Calls

  /// - Parameter listedChanges: the number of changes in the plan.
  func plan(_ context: PageContext, _ form: MergeForm, listedChanges: Int) throws -> MergePlan {
    var options = form.options
    options.listedChanges = listedChanges
    // A page does not block writers.
    options.testsRoom = false
    switch self {
    case .publish(let name):
      return try context.root.branches.planPublish(
        name, only: try form.objects(of: name, context), options: options)
    case .update(let name): return try context.root.branches.planUpdate(name, options: options)
    case .draft(let object):
      return try context.store.drafts.planMerge(try Self.clone(object, context), options: options)
    }
  }

  /// - Parameter key: the idempotency key of the form, so that a repeated click merges once.
  func run(_ context: PageContext, _ form: MergeForm, key: String) async throws -> MergeResult {
    var options = form.options
    options.idempotencyKey = key
    switch self {
    case .publish(let name):
      return try await context.root.branches.publish(
        name, only: try form.objects(of: name, context), options: options)
    case .update(let name): return try await context.root.branches.update(name, options: options)
    case .draft(let object):
      // After a merge that was sent twice, the clone no longer exists.
      return try await context.store.drafts.merge(try Self.clone(object, context), options: options)
    }
  }

  private static func clone(_ object: ObjectName, _ context: PageContext) throws -> ObjectID {
    ObjectID(rootCode: try context.store.schema.entity(object.entity).rootCode, serial: object.serial)
  }
}
