import KVClone
import KVCloneCore

/// Routes of the model, its versions and migration plans.
enum ModelRoutes {
  static let all: [Route] = [
    .get("/model", model), .get("/model/versions", versions), .get("/model/migration", migration),
    .get("/model/entities/:entity", entity),
    // A short form, which entities with the names of other pages do not have.
    .get("/model/:entity") { context in
      let suffix = context.format == .html || context.isNegotiated ? "" : context.format.suffix
      return .redirect(context.link(modelOf: try context.parameter("entity"), suffix))
    },
  ]

  @Sendable private static func model(_ context: PageContext) async throws -> Route.Reply {
    let counts = try await EntityCounts.read(context.store, at: context.snapshotName, context.deadline)
    return .page(ModelPage(model: counts.model, counts: counts))
  }

  @Sendable private static func entity(_ context: PageContext) async throws -> Route.Reply {
    let counts = try await EntityCounts.read(context.store, at: context.snapshotName, context.deadline)
    let name = try context.parameter("entity")
    guard let entity = counts.model.entity(named: name) else {
      throw ExplorerError(.notFound, "the model has no entity \(name); see the list of entities")
    }
    return .page(EntityModelPage(model: counts.model, entity: entity, count: counts.own(of: name)))
  }

  @Sendable private static func versions(_ context: PageContext) async throws -> Route.Reply {
    let stored = try StoredModel.all(of: context.store, limit: VersionsPage.limit)
    let numbers = stored.map(\.number)
    func chosen(_ name: String) throws -> Int? {
      guard let text = context.query[name], !text.isEmpty else { return nil }
      guard let number = Int(text), numbers.contains(number) else {
        throw ExplorerError(.notFound, "the store has no model \(text); choose one of the list")
      }
      return number
    }
    let last = numbers.last ?? 1
    let to = try chosen("to") ?? last
    let from = try chosen("from") ?? numbers.last { $0 < to } ?? to
    return .page(VersionsPage(stored: stored, from: from, to: to))
  }

  @Sendable private static func migration(_ context: PageContext) async throws -> Route.Reply {
    let versions = context.options.modelVersions
    let current = context.store.model
    let name = context.query["to"] ?? versions.last?.versionIdentifier
    guard let name else { return .page(MigrationPage(current: current, versions: [], target: nil, result: nil)) }
    guard let target = versions.last(where: { $0.versionIdentifier == name }) else {
      throw ExplorerError(.notFound, "the explorer has no version \(name); choose one of the list")
    }
    let result = try await plan(to: target, through: versions, context)
    return .page(MigrationPage(current: current, versions: versions, target: target, result: result))
  }

  /// Plans are those of the present state, as a migration is.
  private static func plan(
    to target: ManagedObjectModel, through versions: [ManagedObjectModel], _ context: PageContext
  ) async throws -> MigrationPage.Result {
    do {
      return .plan(
        try await BoundedReader(store: context.store, deadline: context.deadline).read(at: nil) { transaction in
          try MigrationPlan.estimate(to: target, MigrationOptions(versions: versions), in: transaction)
        })
    } catch let error as StoreError where error.kind == .invalidModel {
      return .invalid(error.message)
    } catch let error as ExplorerError where error.kind == .timeLimit {
      throw ExplorerError(
        .timeLimit,
        "the plan takes too long, because it reads all objects of changed entities; run `kvclone migrate --plan`, "
          + "which has no time limit")
    }
  }
}
