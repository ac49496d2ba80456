-- Requests for wrk, controlled by the environment:
--     OPERATION  ping, get, search (the first page of a contact with 100 conversations), search_attr (the
--                same with an attribute too), create, update, mix (60 % get, 20 % search, 10 % create,
--                10 % update), audit (the first page of the audit log), fill (see below); inbox, usage,
--                statistics: requests of the dashboard's pages, with COOKIE; search-contact,
--                search-filtered, search-unknown, search-large on the data set of search_dataset.sql
--     FULL_KEY READ_KEY, or KEYS: a file with both on a line, for each organization
--     IDS        a file with a conversation's id and the number of its key's line (1) on each line
--     RUN        makes the external ids of a run unique
--     CONTACTS   how many contacts with 100 conversations each key has (100): user-0, user-1, ...
--     RATE       requests a second in all; by default as many as possible; CONNECTIONS is their number
-- Keys are in no argument list. A response with a status other than its operation's is a failure, and
-- so is a missing response.
local env = os.getenv
local operation, run = env("OPERATION"), env("RUN") or "0"
local contacts = tonumber(env("CONTACTS") or 100)
local rate, connections = tonumber(env("RATE") or ""), tonumber(env("CONNECTIONS") or 1)
local random = math.random
local api = "/api/v1"
local keys, ids, count, host = {}, {}, 0, nil

local threads = {}
function setup(thread)
  thread:set("thread_number", #threads)
  threads[#threads + 1] = thread
end

local function message(method, path, key, body)
  return table.concat {
    method, " ", path, " HTTP/1.1\r\n", host, "Authorization: Bearer ", key, "\r\n",
    body and "Content-Type: application/json\r\nContent-Length: " .. #body .. "\r\n" or "", "\r\n",
    body or "",
  }
end

local function data(path)
  return "GET /data/" .. path .. " HTTP/1.1\r\n" .. host .. "Cookie: " .. env("COOKIE") .. "\r\n\r\n"
end

local function some_key()
  return keys[random(#keys)]
end

local function some_id()
  return ids[random(#ids)]
end

local contact = '{"field":"contact.external_id","operator":"=","value":"%s"}'
local plan = '{"field":"custom_attributes.plan","operator":"=","value":"pro"}'
local state = '{"field":"state","operator":"=","value":"open"}'

local function search(...)
  local filters = { ... }
  local query = #filters == 1 and filters[1] or
    '{"operator":"AND","value":[' .. table.concat(filters, ",") .. "]}"
  return message("POST", api .. "/conversations/search", some_key().read,
    '{"query":' .. query .. ',"pagination":{"per_page":50}}')
end

local function create(name, user, plan_name, seats)
  return message("POST", api .. "/conversations", some_key().full, string.format(
    '{"external_id":"%s","from":{"external_id":"%s","name":"Ada Lovelace"},' ..
    '"custom_attributes":{"plan":"%s","seats":%d,"beta":true}}', name, user, plan_name, seats))
end

local function some_user()
  return contact:format("user-" .. random(contacts) - 1)
end

local function dataset_user()
  return contact:format("bench-" .. random(10000) - 1)
end

made, created, wrong, first_wrong = 0, 0, 0, "" -- globals: done() reads them

local make = {
  ping = function() return message("GET", api .. "/ping", some_key().read) end,
  get = function()
    local id = some_id()
    return message("GET", api .. "/conversations/" .. id.id, id.key.read)
  end,
  search = function() return search(some_user()) end,
  search_attr = function() return search(some_user(), plan) end,
  create = function()
    made = made + 1
    return create(run .. "-" .. thread_number .. "-" .. made, "new-" .. random(10000),
      made % 2 == 0 and "pro" or "free", made % 100)
  end,
  update = function()
    local id = some_id()
    return message("PUT", api .. "/conversations/" .. id.id, id.key.full,
      string.format('{"custom_attributes":{"score":%d}}', random(1000000)))
  end,
  audit = function() return message("GET", api .. "/audit?per_page=50", some_key().read) end,
  inbox = function() return data("conversations") end,
  usage = function() return data("usage?range=24h") end,
  statistics = function() return data("webhook-statistics?range=24h") end,
  ["search-contact"] = function() return search(dataset_user()) end,
  ["search-filtered"] = function() return search(dataset_user(), state, plan) end,
  ["search-unknown"] = function() return search(contact:format("nobody-" .. random(1000000))) end,
  ["search-large"] = function() return search(contact:format("bench-large")) end,
}
function make.mix()
  local n = random(10)
  return make[n <= 6 and "get" or n <= 8 and "search" or n == 9 and "create" or "update"]()
end

-- fill creates the data that other operations read, and writes the ids to IDS: 100 contacts with 100 conversations
-- each, of which every other one has the plan pro, and 10,000 contacts with one.
local TOTAL, filled = 20000, {}
function make.fill()
  count = count + 1
  local n = count - 1
  if n < 0 or n >= TOTAL then
    return make.ping()
  elseif n < 10000 then
    return create(run .. "-fill-" .. n, "user-" .. n % 100, math.floor(n / 100) % 2 == 0 and "pro" or "free", n % 50)
  end
  return create(run .. "-fill-" .. n, "single-" .. n, "free", n % 50)
end

local function on_filled(status, _, body)
  local id = status == 201 and body:match('"id" *: *"([^"]+)"[^{}]*"external_id"')
    or status == 201 and body:match('"id" *: *"([^"]+)"')
  if id then
    filled[#filled + 1] = id
  elseif status ~= 200 or count < TOTAL then
    io.stderr:write("a conversation could not be created: ", status, " ", body:sub(1, 300), "\n")
    os.exit(1)
  end
  if #filled == TOTAL then
    local file = assert(io.open(env("IDS"), "w"))
    file:write(table.concat(filled, "\n"), "\n")
    file:close()
    os.exit(0) -- thread:stop() would leave wrk waiting for the end of its time
  end
end

function init()
  host = "Host: " .. wrk.host .. ":" .. wrk.port .. "\r\nAccept: application/json\r\n"
  math.randomseed(os.time() + thread_number * 7919)
  for line in io.lines(env("KEYS") or "/dev/null") do
    local full, read = line:match("(%S+) (%S+)")
    keys[#keys + 1] = { full = full, read = read }
  end
  if #keys == 0 then
    keys[1] = { full = env("FULL_KEY"), read = env("READ_KEY") }
  end
  if operation == "fill" then
    response = on_filled
  else
    for line in io.lines(env("IDS")) do
      local id, key = line:match("(%S+) ?(%d*)")
      ids[#ids + 1] = { id = id, key = keys[tonumber(key) or 1] }
    end
  end
  local making = make[operation]
  making() -- fails now if it ever does
  made, count = 0, -1 -- wrk asks for one request more, which it only looks at
  request = making
end

local expected = ({ create = 201 })[operation] or 200
function response(status, _, body)
  if status == 201 then
    created = created + 1
  end
  if status ~= expected and not (operation == "mix" and status == 201) then
    wrong = wrong + 1
    if wrong == 1 then
      first_wrong = status .. " " .. body:sub(1, 300)
    end
  end
end

-- A pause before each request: requests are sent independently of each other and of responses, as long as some
-- connection is not waiting for one.
if rate then
  function delay()
    return -math.log(1 - random()) * 1000 * connections / rate
  end
end

-- The last line: requests, failures, seconds, p50 and p99 in milliseconds.
function done(summary, latency)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.timeout
  for _, thread in ipairs(threads) do
    failed = failed + thread:get("wrong")
    if thread:get("wrong") > 0 then
      io.stderr:write("failed: ", (thread:get("first_wrong"):gsub("%c", " ")), "\n")
    end
    -- In a mix, the number of responses with 201 is that of creates sent, except for those in flight.
    local lost = math.abs(thread:get("made") - thread:get("created"))
    if operation == "mix" and lost > connections + 1 then
      failed = failed + lost
    end
  end
  io.stderr:write(string.format("%d %d %.3f %.3f %.3f\n", summary.requests, failed,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
