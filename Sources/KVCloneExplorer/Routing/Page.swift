import KVCloneCore

/// The content of a page: data that was read from the store, and its three formats.
///
/// A handler reads everything in a short transaction, and renders after it.
protocol Page: Sendable {
  /// The title, without the name of the store.
  var title: String { get }

  /// The status of the response.
  var status: Int { get }

  /// The item of the navigation that the page belongs to.
  var section: PageSection { get }

  /// The names and paths of the pages above this one.
  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)]

  /// The content below the heading.
  func html(_ context: PageContext) -> HTML

  /// Writes the members of the JSON document.
  func write(to json: inout JSONWriter)

  /// The same data as rows.
  var table: PageTable { get }
}

extension Page {
  var status: Int { 200 }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] { [] }
}

/// Items of the navigation.
enum PageSection: String, Sendable, CaseIterable {
  case entities = "Entities"
  case model = "Model"
  case time = "Time"
  case branches = "Branches"
  case drafts = "Drafts"
  case store = "Store"

  var path: String {
    switch self {
    case .entities: "/"
    case .model: "/model"
    case .time: "/time"
    case .branches: "/branches"
    case .drafts: "/drafts"
    case .store: "/store"
    }
  }
}

/// Rows of texts: the CSV of a page. Nil is a missing value.
struct PageTable: Sendable {
  var columns: [String]
  var rows: [[String?]]
}

/// The formats of a page.
enum PageFormat: String, Sendable, CaseIterable {
  case html, json, csv

  /// The formats that a path can choose by its suffix.
  static let suffixed: [PageFormat] = [.json, .csv]

  var suffix: String { ".\(rawValue)" }

  /// The content type without parameters.
  var mediaType: String {
    switch self {
    case .html: "text/html"
    case .json: "application/json"
    case .csv: "text/csv"
    }
  }

  var contentType: String {
    self == .json ? mediaType : "\(mediaType); charset=utf-8"
  }
}
