-- What wrk sends: OPERATION is ping, get, create or update. The key comes by the environment, so it
-- is in no argument list. IDS is a file with one conversation id a line; RUN makes the external ids
-- of this run its own.
local operation = os.getenv("OPERATION")
local run = os.getenv("RUN")
local ids = {}
local count = 0
local path = "/api/v1/conversations"

wrk.headers["Authorization"] = "Bearer " .. os.getenv("FULL_KEY")
wrk.headers["Content-Type"] = "application/json"

local threads = 0
function setup(thread)
  thread:set("thread_number", threads)
  threads = threads + 1
end

function init()
  for id in io.lines(os.getenv("IDS")) do
    ids[#ids + 1] = id
  end
  count = thread_number * 7919
end

-- Strides over the ids, so that requests close in time are not close in the table.
local function some_id()
  return ids[(count * 617) % #ids + 1]
end

local make = {
  ping = function()
    return wrk.format("GET", "/api/v1/ping")
  end,
  get = function()
    return wrk.format("GET", path .. "/" .. some_id())
  end,
  create = function()
    local name = run .. "-" .. thread_number .. "-" .. count
    return wrk.format("POST", path, nil, string.format(
      '{"external_id":"%s","from":{"external_id":"user-%d","name":"Ada Lovelace"},' ..
      '"custom_attributes":{"plan":"pro","seats":%d}}', name, count % 10000, count % 100))
  end,
  update = function()
    return wrk.format("PUT", path .. "/" .. some_id(), nil, string.format(
      '{"custom_attributes":{"seats":%d,"plan":"pro"}}', count))
  end,
}

function request()
  count = count + 1
  return make[operation]()
end

-- Every answer that is not 2xx, and every one that did not come, is a failure.
function done(summary, latency)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.write + e.timeout
  io.stderr:write(string.format("%d %d %.3f %.3f %.3f\n", summary.requests, failed,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
