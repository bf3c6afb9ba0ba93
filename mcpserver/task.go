package mcpserver

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// HTTP clients of the modern era know a task of a fleet by its id of the server sealed, which says which node has
// created it: requests about it may come to any.

// sealsTasks reports whether clients know tasks by sealed ids.
func (p *viewPool) sealsTasks() bool { return p == &p.server.views && p.server.opts().Nodes != nil }

// openTask returns the id that the server has given to a task, by that of its client.
func (s *Server) openTask(sealed string) (id string, err *toolformat.Error) {
	data, run, ok := s.opts().Nodes.Open(sealedTask, sealed)
	switch {
	case !ok:
		return "", toolformat.Errorf(toolformat.NotFound, "unknown task: %.80s", sealed)
	case run != "":
		return "", toolformat.Errorf(toolformat.NotFound, "unknown task: the node %.80s, which has created it, has ended", run)
	}
	return string(data), nil
}

// doTask carries out a request about a task in the view in which that was created: the source may
// know it nowhere else. Such a request asks nothing.
func (p *viewPool) doTask(ctx context.Context, v *view, m *wire.Message) bridge.Reply {
	id, ok := m.Params.Text(wire.TaskID)
	if !ok {
		return bridge.Failed(invalid("%s: params.taskId is missing or not a string", m.Method))
	}
	params, sealed := m.Params, ""
	if p.sealsTasks() {
		sealed = id
		var err *toolformat.Error
		if id, err = p.server.openTask(sealed); err != nil {
			return bridge.Failed(err)
		}
		var fault error
		if params, fault = wire.SplitParams(params.Append(nil, wire.Edit{Key: wire.TaskID, Value: wire.AppendString(nil, id)})); fault != nil {
			return bridge.Failed(toolformat.AsError(fault))
		}
	}
	p.mu.Lock()
	if creator := p.tasks[taskKey{v.key.sender.anyToken(), id}]; creator != nil {
		creator.token.Store(&v.key.sender.token)
		v = creator
	}
	v.users++
	p.mu.Unlock()
	defer p.release(v, false)
	reply := v.source.Do(ctx, &bridge.Request{Method: m.Method, Params: &params})
	if sealed != "" {
		reply = nameTask(reply, sealed)
	}
	return reply
}

// nameTask returns a reply that has a task, if it does, with another id for it.
func nameTask(reply bridge.Reply, id string) bridge.Reply {
	named, raw := []byte(nil), wire.AppendString(nil, id)
	if task := wire.Lookup(reply.Result, "task"); wire.Lookup(task, "taskId") != nil {
		named = wire.SetMember(reply.Result, "task", wire.SetMember(task, "taskId", raw))
	} else if wire.Lookup(reply.Result, "taskId") != nil {
		named = wire.SetMember(reply.Result, "taskId", raw)
	} else {
		return reply
	}
	reply.Free()
	reply.Result = named
	return reply
}
