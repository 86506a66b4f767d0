import KVClone
import KVCloneExplorer

/// The two trees as rows, one for each pair of corresponding nodes.
enum DemoRows {
  struct Row {
    let source: String
    let clone: String
    /// The rule that caused the difference, or the equality.
    let rule: String
    let isDifferent: Bool
  }

  private static let shownPhotos = 2

  static func rows<T: ObjectReading & ~Copyable>(
    _ source: ObjectID, _ clone: ObjectID, _ transaction: borrowing T
  ) throws -> [Row] {
    var rows: [Row] = []
    let (left, right) = (try transaction.object(source), try transaction.object(clone))
    rows.append(Row(source: try title(left), clone: try title(right), rule: "", isDifferent: true))
    for (name, rule) in [("id", "R16 uuid"), ("created", "R16 now"), ("shareToken", "R15 exclude")] {
      let texts = (try text(left, name), try text(right, name))
      rows.append(row("├ \(name) ", texts, rule))
    }
    for (name, rule) in [("owner", "R6 stop"), ("cover", "R9 inside")] {
      let targets = (try target(left, name, transaction), try target(right, name, transaction))
      rows.append(row("├ \(name) → ", targets, rule))
    }
    let albums = zip(
      try transaction.members(source, "albums"), try transaction.members(clone, "albums")
    ).map { $0 }
    for (index, album) in albums.enumerated() {
      try appendAlbum(album, isLast: index == albums.count - 1, transaction, to: &rows)
    }
    return rows
  }

  private static func appendAlbum<T: ObjectReading & ~Copyable>(
    _ album: (ObjectID, ObjectID), isLast: Bool, _ transaction: borrowing T, to rows: inout [Row]
  ) throws {
    let (left, right) = (try transaction.object(album.0), try transaction.object(album.1))
    let corner = isLast ? "└" : "├"
    let trunk = isLast ? "  " : "│ "
    rows.append(row("\(corner) ", (try title(left), try title(right)), "R7 follow"))
    rows.append(row("\(trunk)├ projectID ", (try text(left, "projectID"), try text(right, "projectID")), "R17 parent"))
    let photos = zip(try transaction.members(album.0, "photos"), try transaction.members(album.1, "photos")).map { $0 }
    for (index, pair) in photos.prefix(shownPhotos).enumerated() {
      let (photo, copy) = (try transaction.object(pair.0), try transaction.object(pair.1))
      rows.append(row("\(trunk)├ ", (try title(photo), try title(copy)), index == 0 ? "R12 order" : ""))
      guard index == 0 else { continue }
      let images = (try image(photo), try image(copy))
      rows.append(row("\(trunk)│ ├ image ", images, images.0 == images.1 ? "R25 shared" : ""))
      let tags = (try tags(pair.0, transaction), try tags(pair.1, transaction))
      let job = (try target(photo, "exportJob", transaction), try target(copy, "exportJob", transaction))
      let hasJob = photo.toOne("exportJob") != nil
      rows.append(row("\(trunk)│ \(hasJob ? "├" : "└") tags → ", tags, "R6 stop"))
      if hasJob { rows.append(row("\(trunk)│ └ exportJob → ", job, "R5 exclude")) }
    }
    let rest = photos.count - shownPhotos
    if rest > 0 { rows.append(row("\(trunk)└ ", ("… \(rest) more photos", "… \(rest) more photos"), "")) }
  }

  private static func row(_ prefix: String, _ texts: (String, String), _ rule: String) -> Row {
    Row(source: prefix + texts.0, clone: prefix + texts.1, rule: rule, isDifferent: texts.0 != texts.1)
  }

  private static func title(_ object: ManagedObject) throws -> String {
    guard case .string(let title)? = try object.value("title") else { return object.name }
    return "\(object.name) \"\(title)\""
  }

  /// UUIDs are shortened to their first digits, which distinguish them.
  private static func text(_ object: ManagedObject, _ attribute: String) throws -> String {
    guard let value = try object.value(attribute) else { return "(empty)" }
    if case .uuid(let uuid) = value { return "\(uuid.uuidString.prefix(13))…" }
    if case .date = value { return "\(ValueText.describe(value).prefix(19))Z" }
    return ValueText.describe(value)
  }

  private static func image(_ photo: ManagedObject) throws -> String {
    switch try photo.value("image") {
    case .blob(let blob)?: "\(Text.bytes(blob.byteCount)), blob \(blob.id)"
    case .some(let value): ValueText.describe(value)
    case nil: "(empty)"
    }
  }

  private static func target<T: ObjectReading & ~Copyable>(
    _ object: ManagedObject, _ relationship: String, _ transaction: borrowing T
  ) throws -> String {
    guard let id = object.toOne(relationship) else { return "(empty)" }
    return try transaction.name(of: id)
  }

  private static func tags<T: ObjectReading & ~Copyable>(_ photo: ObjectID, _ transaction: borrowing T) throws -> String
  {
    try transaction.members(photo, "tags").map { try transaction.name(of: $0) }.joined(separator: ", ")
  }
}
