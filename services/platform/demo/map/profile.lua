-- The tags of OpenStreetMap as the layers that the console draws: the basemap schema of Protomaps, version 4
-- (https://docs.protomaps.com/basemaps/layers).

node_keys = { "place", "addr:housenumber", "amenity", "shop", "tourism", "highway", "railway", "natural" }

local motor_roads = {
  motorway = { "highway", 5 }, trunk = { "highway", 6 },
  primary = { "major_road", 8 }, secondary = { "major_road", 9 }, tertiary = { "major_road", 10 },
  unclassified = { "minor_road", 12 }, residential = { "minor_road", 12 }, living_street = { "minor_road", 12 },
  road = { "minor_road", 12 }, service = { "minor_road", 13 },
}
local paths = {
  pedestrian = true, track = true, footway = true, path = true, cycleway = true, steps = true, bridleway = true,
}
local land_kinds = {
  forest = "forest", wood = "wood", grass = "grass", grassland = "grassland", meadow = "grass", vineyard = "grass",
  scrub = "scrub", cemetery = "cemetery", industrial = "industrial", allotments = "allotments", farmland = "farmland",
  recreation_ground = "park", village_green = "village_green", park = "park", playground = "playground",
  pitch = "playground", nature_reserve = "nature_reserve", golf_course = "golf_course", school = "school",
  university = "university", hospital = "hospital", scree = "sand", sand = "sand", residential = "residential",
}
local place_zooms = { city = 6, town = 8, village = 10, hamlet = 12, suburb = 12, neighbourhood = 13, locality = 14 }
local place_ranks = { city = 10, town = 8, village = 6, hamlet = 3 }
local poi_kinds = {
  restaurant = 16, cafe = 16, fast_food = 17, bar = 17, school = 15, university = 14, hospital = 14, townhall = 15,
  post_office = 16, pharmacy = 17, library = 15, supermarket = 16, convenience = 17, museum = 15, attraction = 15,
  hotel = 16, fuel = 16, parking = 17, bus_stop = 17, station = 13, peak = 13, charging_station = 15, drinking_water = 18,
  toilets = 18, bench = 19,
}

local function names(object)
  local name = object:Find("name")
  if name ~= "" then object:Attribute("name", name) end
end

local function point_of_interest(object, as_centroid)
  for _, key in ipairs({ "amenity", "shop", "tourism", "railway", "highway", "natural" }) do
    local kind = object:Find(key)
    local zoom = poi_kinds[kind]
    if zoom and object:Find("name") ~= "" then
      if as_centroid then object:LayerAsCentroid("pois") else object:Layer("pois", false) end
      object:Attribute("kind", kind)
      object:AttributeNumeric("min_zoom", zoom)
      object:MinZoom(math.min(zoom - 1, 14))
      names(object)
      return
    end
  end
end

function node_function(node)
  local place = node:Find("place")
  if place_zooms[place] and node:Find("name") ~= "" then
    local zoom = place_zooms[place]
    node:Layer("places", false)
    node:Attribute("kind", place_ranks[place] and "locality" or "neighbourhood")
    node:Attribute("kind_detail", place)
    node:AttributeNumeric("population_rank", place_ranks[place] or 1)
    node:AttributeNumeric("min_zoom", zoom)
    node:AttributeNumeric("sort_rank", zoom)
    node:MinZoom(math.min(zoom - 1, 14))
    if node:Find("capital") == "yes" then node:Attribute("capital", "yes") end
    names(node)
  end
  local number = node:Find("addr:housenumber")
  if number ~= "" then
    node:Layer("buildings", false)
    node:Attribute("kind", "address")
    node:Attribute("addr_housenumber", number)
    node:MinZoom(14)
  end
  point_of_interest(node, false)
end

local function road(way)
  local class = way:Find("highway")
  local base = class:gsub("_link$", "")
  local motor = motor_roads[base]
  if motor then
    way:Layer("roads", false)
    way:Attribute("kind", motor[1])
    way:Attribute("kind_detail", class)
    way:MinZoom(motor[2])
    if base ~= class then way:Attribute("is_link", "yes") end
    local reference = way:Find("ref")
    if reference ~= "" then
      way:Attribute("ref", reference)
      way:Attribute("shield_text", reference)
      way:Attribute("network", "other")
    end
    if way:Find("oneway") == "yes" then way:Attribute("oneway", "yes") end
  elseif paths[class] then
    way:Layer("roads", false)
    way:Attribute("kind", class == "pedestrian" and "minor_road" or "path")
    way:Attribute("kind_detail", class)
    way:MinZoom(13)
  else
    return
  end
  names(way)
  local tunnel, bridge = way:Find("tunnel"), way:Find("bridge")
  if tunnel ~= "" and tunnel ~= "no" then way:Attribute("is_tunnel", "yes") end
  if bridge ~= "" and bridge ~= "no" then way:Attribute("is_bridge", "yes") end
end

local function water(way)
  local waterway = way:Find("waterway")
  if way:Find("natural") == "water" or waterway == "riverbank" or way:Find("landuse") == "reservoir" then
    way:Layer("water", true)
    way:Attribute("kind", waterway == "riverbank" and "river" or "water")
    way:MinZoom(waterway == "riverbank" and 8 or 11)
    names(way)
  elseif waterway == "river" or waterway == "canal" or waterway == "stream" then
    way:Layer("water", false)
    way:Attribute("kind", waterway == "stream" and "stream" or "river")
    way:MinZoom(waterway == "stream" and 13 or 9)
    names(way)
  end
end

local function land(way)
  for _, key in ipairs({ "landuse", "natural", "leisure", "amenity" }) do
    local kind = land_kinds[way:Find(key)]
    if kind then
      way:Layer("landuse", true)
      way:Attribute("kind", kind)
      way:MinZoom((kind == "forest" or kind == "wood") and 9 or 12)
      return
    end
  end
end

function relation_scan_function(relation)
  local level = relation:Find("admin_level")
  if relation:Find("boundary") == "administrative" and (level == "2" or level == "8") then relation:Accept() end
end

local function boundary(way)
  local lowest
  while true do
    local relation = way:NextRelation()
    if not relation then break end
    local level = tonumber(way:FindInRelation("admin_level"))
    if level and (not lowest or level < lowest) then lowest = level end
  end
  if not lowest then return end
  way:Layer("boundaries", false)
  way:Attribute("kind", lowest == 2 and "country" or "locality")
  way:AttributeNumeric("kind_detail", lowest)
  way:MinZoom(lowest == 2 and 5 or 11)
end

function way_function(way)
  if way:Find("highway") ~= "" then road(way) end
  if way:Find("railway") == "rail" then
    way:Layer("roads", false)
    way:Attribute("kind", "rail")
    way:Attribute("kind_detail", "rail")
    way:MinZoom(9)
  end
  water(way)
  boundary(way)
  if not way:IsClosed() then return end
  land(way)
  local building = way:Find("building")
  if building ~= "" and building ~= "no" then
    way:Layer("buildings", true)
    way:Attribute("kind", "building")
    way:MinZoom(13)
    local number = way:Find("addr:housenumber")
    if number ~= "" then
      way:LayerAsCentroid("buildings")
      way:Attribute("kind", "address")
      way:Attribute("addr_housenumber", number)
      way:MinZoom(14)
    end
  end
  point_of_interest(way, true)
end
