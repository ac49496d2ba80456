-- What wrk sends to measure search on the data set of search_dataset.sql. SHAPE is
--     contact    the first page of 50 of one of 10,000 contacts
--     filtered   the same, by state and an attribute
--     unknown    of a contact that is not there
--     large      the first page of the contact with 100,000 conversations
-- The key comes by the environment, so it is in no argument list.
local shape = os.getenv("SHAPE")
local path = "/api/v1/conversations/search"
local contact = '{"field":"contact.external_id","operator":"=","value":"%s"}'
local group = '{"operator":"AND","value":[' .. contact ..
  ',{"field":"state","operator":"=","value":"open"}' ..
  ',{"field":"custom_attributes.plan","operator":"=","value":"pro"}]}'
local count = 0

wrk.headers["Authorization"] = "Bearer " .. os.getenv("FULL_KEY")
wrk.headers["Content-Type"] = "application/json"

local threads = 0
function setup(thread)
  thread:set("thread_number", threads)
  threads = threads + 1
end

function init()
  count = thread_number * 7919
end

local make = {
  contact = function() return contact:format("bench-" .. count * 617 % 10000) end,
  filtered = function() return group:format("bench-" .. count * 617 % 10000) end,
  unknown = function() return contact:format("nobody-" .. count) end,
  large = function() return contact:format("bench-large") end,
}

function request()
  count = count + 1
  return wrk.format("POST", path, nil, '{"query":' .. make[shape]() .. "}")
end

-- Every answer that is not 2xx, and every one that did not come, is a failure.
function done(summary, latency)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.write + e.timeout
  io.stderr:write(string.format("%d %d %.3f %.3f %.3f\n", summary.requests, failed,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
