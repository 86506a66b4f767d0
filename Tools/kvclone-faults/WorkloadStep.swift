import Foundation
import KVClone

/// One transaction of the workload. It selects objects by rank and not by id, because a failed and repeated transaction
/// uses other serials.
struct WorkloadStep {
  var random: SeededGenerator
  let number: Int
  let version: WorkloadVersion
  let savepointUse: SavepointUse
  private(set) var projects: [ObjectID] = []
  private var albums: [ObjectID] = []
  private(set) var photos: [ObjectID] = []
  private(set) var tags: [ObjectID] = []
  private var remarks: [ObjectID] = []

  init(_ random: SeededGenerator, number: Int, _ version: WorkloadVersion, _ savepointUse: SavepointUse) {
    self.random = random
    self.number = number
    self.version = version
    self.savepointUse = savepointUse
  }

  mutating func read(_ transaction: borrowing WriteTransaction) throws {
    projects = try Workload.ids(of: "Project", in: transaction)
    albums = try Workload.ids(of: "Album", in: transaction)
    photos = try Workload.ids(of: "Photo", in: transaction)
    tags = try Workload.ids(of: "Tag", in: transaction)
    if version.hasRemarks { remarks = try Workload.ids(of: "Remark", in: transaction) }
  }

  mutating func makeBase(_ transaction: inout WriteTransaction) throws {
    for index in 0..<5 { tags.append(try transaction.insert("Tag", ["name": .string("tag \(index)")])) }
    for _ in 0..<2 {
      let project = try insertProject(&transaction)
      for _ in 0..<2 { albums.append(try insertAlbum(of: project, &transaction)) }
    }
    for _ in 0..<10 { try insertPhoto(&transaction) }
    // More members than fit into a record, so that they are stored in a separate list.
    for _ in 0..<20 { try insertRemark(on: photos[0], &transaction) }
    for photo in photos.prefix(3) { try insertRemark(on: photo, scanLength: 2_000 + random.below(5_000), &transaction) }
  }

  /// Inserts enough images that dirty pages spill before the commit, and lists that outgrow the record.
  mutating func insertManyPhotos(_ transaction: inout WriteTransaction) throws {
    // A rollback or a deletion may have left none, and every commit changes something.
    if albums.isEmpty {
      albums.append(try insertAlbum(of: random.element(projects) ?? insertProject(&transaction), &transaction))
    }
    if tags.isEmpty { tags.append(try transaction.insert("Tag", ["name": .string(title("tag"))])) }
    guard let album = random.element(albums), let tag = random.element(tags) else { return }
    for _ in 0..<20 { try insertPhoto(&transaction, album: album, tag: tag) }
    try insertPhoto(&transaction, album: album, tag: tag, byteCount: 150_000 + random.below(150_000))
    for _ in 0..<4 {
      let count = try transaction.count(album, "photos")
      if let photo = random.element(photos) {
        try transaction.link(album, "photos", [photo], at: random.below(count))
      }
    }
  }

  /// Deletes objects by cascade and one by one, down to a size that keeps trials fast.
  mutating func clean(_ transaction: inout WriteTransaction) throws {
    while projects.count > 2 { try transaction.delete([projects.remove(at: random.below(projects.count))]) }
    try read(transaction)
    if albums.count > 3 { try transaction.delete([albums.remove(at: random.below(albums.count))]) }
    try read(transaction)
    while photos.count > 20 { try transaction.delete([photos.remove(at: random.below(photos.count))]) }
    let project: ObjectID
    if let first = projects.first { project = first } else { project = try insertProject(&transaction) }
    if albums.isEmpty { albums.append(try insertAlbum(of: project, &transaction)) }
    try transaction.set(project, "number", .integer(Int64(number)))
  }

  /// Deletes objects of each kind, and the objects that depend on them. If there is nothing to delete, inserts a tag,
  /// because every commit changes something.
  mutating func deleteSome(_ transaction: inout WriteTransaction) throws {
    if photos.isEmpty { _ = try transaction.insert("Tag", ["name": .string(title("tag"))]) }
    if let photo = random.element(photos) { try transaction.delete([photo]) }
    try read(transaction)
    if tags.count > 2, let tag = random.element(tags) { try transaction.delete([tag]) }
    if let remark = random.element(remarks) { try transaction.delete([remark]) }
    if albums.count > 1, let album = random.element(albums) { try transaction.delete([album]) }
    try read(transaction)
    if projects.count > 1, let project = random.element(projects) { try transaction.delete([project]) }
    try read(transaction)
    // Several in one call.
    try transaction.delete(Array(photos.shuffled(using: &random).prefix(photos.count / 4)))
  }

  mutating func changeSome(_ transaction: inout WriteTransaction) throws {
    // The insertion guarantees a change; an empty transaction would not increment the commit counter.
    try insertPhoto(&transaction)
    try change(6, &transaction)
  }

  /// Changes random existing objects.
  mutating func change(_ count: Int, _ transaction: inout WriteTransaction) throws {
    for _ in 0..<count {
      guard let photo = random.element(photos), let album = random.element(albums), let tag = random.element(tags)
      else { return }
      switch random.below(9) {
      case 0: try transaction.set(photo, version.photoTitle, .string(title("renamed")))
      case 1:
        let image = Workload.bytes(5_000 + random.below(40_000), &random)
        try transaction.set(photo, "image", random.chance(20) ? nil : .binary(image))
      case 2: try transaction.link(photo, "tags", [tag])
      case 3: try transaction.unlink(photo, "tags")
      case 4:
        try transaction.link(album, "photos", [photo], at: random.below(try transaction.count(album, "photos") + 1))
      case 5:
        photos.removeAll { $0 == photo }
        try transaction.delete([photo])
        // The delete cascades to its remarks.
        try read(transaction)
      case 6: if let project = random.element(projects) { try cover(project, photo, &transaction) }
      case 7: try remark(on: photo, &transaction)
      default: try streamNotes(&transaction)
      }
    }
  }

  /// Changes the title of the first project, and makes the first photo the cover of one of two projects: the store and
  /// a branch exclude each other.
  mutating func compete(isOnBranch: Bool, _ transaction: inout WriteTransaction) throws {
    try insertPhoto(&transaction)
    guard projects.count > 1, let photo = photos.first else { return }
    try transaction.set(projects[0], "title", .string(title("rival")))
    try cover(projects[isOnBranch ? 1 : 0], photo, &transaction)
  }

  /// Changes the title of a draft, and adds a photo to it.
  mutating func changeDraft(_ draft: ObjectID, _ transaction: inout WriteTransaction) throws {
    try transaction.set(draft, "title", .string(title("draft")))
    if let album = try transaction.members(draft, "albums").first { try insertPhoto(&transaction, album: album) }
  }

  /// Streams a blob in several chunks.
  private mutating func streamNotes(_ transaction: inout WriteTransaction) throws {
    guard let project = random.element(projects) else { return }
    let pieces = (0..<3).map { _ in Workload.bytes(2_000 + random.below(20_000), &random) }
    try transaction.setData(project, "notes") { writer in
      for piece in pieces { try writer.append(piece) }
    }
  }

  private func cover(_ project: ObjectID, _ photo: ObjectID, _ transaction: inout WriteTransaction) throws {
    if let cover = version.cover {
      try transaction.setToOne(project, cover, photo)
    } else {
      try transaction.link(project, "covers", [photo])
    }
  }

  /// Inserts or deletes a remark.
  private mutating func remark(on photo: ObjectID, _ transaction: inout WriteTransaction) throws {
    guard version.hasRemarks else { return }
    guard let old = random.element(remarks), random.chance(50) else {
      return try insertRemark(on: photo, scanLength: 1_500 + random.below(3_000), &transaction)
    }
    remarks.removeAll { $0 == old }
    try transaction.delete([old])
  }

  private mutating func insertRemark(
    on photo: ObjectID, scanLength: Int? = nil, _ transaction: inout WriteTransaction
  ) throws {
    var values: [String: AttributeValue?] = ["text": .string(title("remark"))]
    if let scanLength { values["scan"] = .binary(Workload.bytes(scanLength, &random)) }
    remarks.append(try transaction.insert("Remark", values, relationships: ["photo": [photo]]))
  }

  private mutating func insertProject(_ transaction: inout WriteTransaction) throws -> ObjectID {
    let id = try transaction.insert(
      "Project", ["title": .string(title("project")), "number": .integer(Int64(number))])
    projects.append(id)
    return id
  }

  private mutating func insertAlbum(of project: ObjectID, _ transaction: inout WriteTransaction) throws -> ObjectID {
    try transaction.insert("Album", ["title": .string(title("album"))], relationships: ["project": [project]])
  }

  mutating func insertPhoto(
    _ transaction: inout WriteTransaction, album: ObjectID? = nil, tag: ObjectID? = nil, byteCount: Int? = nil
  ) throws {
    let count = byteCount ?? 5_000 + random.below(random.chance(10) ? 60_000 : 12_000)
    var links: [String: [ObjectID]] = [:]
    if let album = album ?? random.element(albums) { links["album"] = [album] }
    if let tag = tag ?? random.element(tags) { links["tags"] = [tag] }
    var values: [String: AttributeValue?] = [
      version.photoTitle: .string(title("photo")), "rating": version.rating(random.below(6)),
      "taken": .date(Date(timeIntervalSinceReferenceDate: Double(random.below(800_000_000)))),
      "image": .binary(Workload.bytes(count, &random)),
    ]
    if version.hasOrigins { values["origin"] = .string("workload") }
    if version.hasDrafts, random.chance(40) {
      values["draft"] = .binary(Workload.bytes(1_500 + random.below(4_000), &random))
    }
    photos.append(try transaction.insert("Photo", values, relationships: links))
  }

  mutating func title(_ word: String) -> String { "\(word) \(number).\(random.below(1_000_000))" }
}
