import KVCloneModel

/// The versions of a model that a migration goes through.
struct MigrationPath {
  /// From one version to the next.
  struct Leg {
    /// The version that the store is to have.
    let model: ManagedObjectModel
    /// What has code before and after it; nil for a plain step.
    var stage: CustomMigrationStage?
    /// What says that it has to be inferred.
    var lightweight: LightweightMigrationStage?
  }

  /// One after the other; empty where the store has the wanted version.
  let legs: [Leg]

  init(from source: ManagedObjectModel, to destination: ManagedObjectModel, _ options: MigrationOptions)
    throws(StoreError)
  {
    for model in [destination] + options.versions {
      do {
        _ = try model.validate()
      } catch {
        throw StoreError(.invalidModel, "\(error)")
      }
    }
    if source == destination {
      legs = []
      return
    }
    if !options.stages.isEmpty {
      legs = try StagedPath(destination, options).legs(from: source, to: destination)
      return
    }
    let hashes = options.versions.map(\.modelHash)
    guard let start = hashes.lastIndex(of: source.modelHash), let end = hashes.lastIndex(of: destination.modelHash),
      start != end
    else {
      legs = [Leg(model: destination)]
      return
    }
    let between = start < end ? Array(options.versions[start + 1..<end]) : options.versions[end + 1..<start].reversed()
    legs = (between + [destination]).map { Leg(model: $0) }
  }
}

/// Stages, placed among the versions that they name.
private struct StagedPath {
  private struct Placed<Stage: MigrationStage> {
    let stage: Stage
    let range: Range<Int>
  }

  /// Each content once, under its last name: which of two with the same a store has, nobody can tell.
  private var versions: [ManagedObjectModel] = []
  private var hashes: [ModelHash] = []
  /// By their versions.
  private var custom: [Placed<CustomMigrationStage>] = []
  private var lightweight: [Placed<LightweightMigrationStage>] = []

  /// - Parameter destination: counts as the last version where it is none of those given.
  init(_ destination: ManagedObjectModel, _ options: MigrationOptions) throws(StoreError) {
    let given = options.versions.map(\.modelHash)
    for (index, hash) in given.enumerated() where !given[(index + 1)...].contains(hash) {
      versions.append(hash == destination.modelHash ? destination : options.versions[index])
      hashes.append(hash)
    }
    if !hashes.contains(destination.modelHash) {
      versions.append(destination)
      hashes.append(destination.modelHash)
    }
    for stage in options.stages {
      if let stage = stage as? CustomMigrationStage {
        custom.append(Placed(stage: stage, range: try range(of: stage, options.versions, given)))
      } else if let stage = stage as? LightweightMigrationStage {
        if let range = try range(of: stage, options.versions, given) {
          lightweight.append(Placed(stage: stage, range: range))
        }
      } else {
        throw StoreError(
          .invalidStage,
          "stage \(stage.label) is of a type of its own; use CustomMigrationStage or LightweightMigrationStage")
      }
    }
    custom.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    try requireApart()
  }

  private func range(
    of stage: CustomMigrationStage, _ given: [ManagedObjectModel], _ givenHashes: [ModelHash]
  ) throws(StoreError) -> Range<Int> {
    let start = try place(of: stage.currentModel, in: stage, given, givenHashes)
    let end = try place(of: stage.nextModel, in: stage, given, givenHashes)
    if start == end {
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) begins and ends with the same version: nobody can tell which of the two a store has; give one of "
          + "them a hash modifier")
    }
    if start > end {
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) goes back from a later version to an earlier one; stages go forward, in the order of "
          + "MigrationOptions.versions")
    }
    return start..<end
  }

  /// nil where the stage has no step.
  private func range(
    of stage: LightweightMigrationStage, _ given: [ManagedObjectModel], _ givenHashes: [ModelHash]
  ) throws(StoreError) -> Range<Int>? {
    var last: Int?
    var first: Int?
    for version in stage.versions {
      let place = try place(of: version, in: stage, given, givenHashes)
      if let last, place != last, place != last + 1 {
        throw StoreError(
          .invalidStage,
          "the versions of stage \(stage.label) do not follow each other: after \(versions[last].versionIdentifier) comes "
            + "\(last + 1 < versions.count ? versions[last + 1].versionIdentifier : "no other"), and the stage names \(version)"
        )
      }
      first = first ?? place
      last = place
    }
    guard let first, let last, first < last else { return nil }
    return first..<last
  }

  /// Where a version that a stage names is.
  private func place(
    of version: ManagedObjectModelReference, in stage: any MigrationStage, _ given: [ManagedObjectModel],
    _ givenHashes: [ModelHash]
  ) throws(StoreError) -> Int {
    var found: Set<ModelHash> = []
    for (model, hash) in zip(given + versions.suffix(1), givenHashes + hashes.suffix(1))
    where version.isReference(to: model, hash) {
      found.insert(hash)
    }
    if found.count > 1 {
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) names the version \(version), and \(found.count) versions of different content are called so; name "
          + "it by its hash")
    }
    guard let hash = found.first, let place = hashes.firstIndex(of: hash) else {
      let known = versions.map { "'\($0.versionIdentifier)'" }.joined(separator: ", ")
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) names the version \(version), which is none of MigrationOptions.versions (\(known)); correct it, or "
          + "add the version")
    }
    return place
  }

  /// Refuses stages that are in each other's way.
  private func requireApart() throws(StoreError) {
    for (stage, next) in zip(custom, custom.dropFirst()) where next.range.lowerBound < stage.range.upperBound {
      throw StoreError(
        .invalidStage,
        "the stages \(stage.stage.label) and \(next.stage.label) overlap; a step has one stage")
    }
    for stage in lightweight {
      for other in custom where other.range.overlaps(stage.range) {
        throw StoreError(
          .invalidStage,
          "the steps of the lightweight stage \(stage.stage.label) include those of the custom stage \(other.stage.label); end it "
            + "where that one begins")
      }
    }
  }

  func legs(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws(StoreError)
    -> [MigrationPath.Leg]
  {
    guard let start = hashes.firstIndex(of: source.modelHash) else {
      throw StoreError(
        .invalidStage,
        "the store has the version '\(source.versionIdentifier)' with the hash \(source.modelHash.hex.prefix(12))…, which is none "
          + "of MigrationOptions.versions, so that nobody can know which stages lie before it; add the version")
    }
    guard let end = hashes.firstIndex(of: destination.modelHash) else { return [.init(model: destination)] }
    // What the hash leaves out differs, and no more.
    if start == end { return [.init(model: destination)] }
    if start > end { return try legs(back: start, to: end) }
    var legs: [MigrationPath.Leg] = []
    var place = start
    while place < end {
      if let next = custom.first(where: { $0.range.contains(place) }) {
        guard next.range.lowerBound == place else {
          throw inside(next, "the store has the version '\(source.versionIdentifier)'", "begins with")
        }
        guard next.range.upperBound <= end else {
          throw inside(next, "the wanted version is '\(destination.versionIdentifier)'", "ends with")
        }
        place = next.range.upperBound
        legs.append(.init(model: versions[place], stage: next.stage))
      } else {
        let stage = lightweight.first { $0.range.contains(place) }?.stage
        place += 1
        legs.append(.init(model: versions[place], lightweight: stage))
      }
    }
    return legs
  }

  /// The way to an earlier version: stages go forward only.
  private func legs(back start: Int, to end: Int) throws(StoreError) -> [MigrationPath.Leg] {
    if let stage = custom.first(where: { $0.range.overlaps(end..<start) }) {
      throw StoreError(
        .invalidStage,
        "the migration goes back from '\(versions[start].versionIdentifier)' to '\(versions[end].versionIdentifier)', over stage "
          + "\(stage.stage.label), which goes forward; leave the stage out if it need not be undone")
    }
    return (end..<start).reversed().map { .init(model: versions[$0]) }
  }

  private func inside(_ stage: Placed<CustomMigrationStage>, _ reason: String, _ verb: String) -> StoreError {
    StoreError(
      .invalidStage,
      "\(reason), which lies inside of stage \(stage.stage.label): it goes from "
        + "'\(versions[stage.range.lowerBound].versionIdentifier)' to '\(versions[stage.range.upperBound].versionIdentifier)' at once; "
        + "add a stage that \(verb) this version")
  }
}
