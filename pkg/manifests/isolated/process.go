// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
)

// outFD is the descriptor that exec.Cmd gives to the first of its ExtraFiles. Messages to the operator go
// there, because any code may write to standard output.
const outFD = 3

// process is the side of the process that renders.
type process struct {
	out io.Writer
	// asking is held from a call until its answer arrives.
	asking  sync.Mutex
	answers chan answer
	// abandoned is closed when the operator is gone, or has ended the conversation.
	abandoned chan struct{}
}

// serve renders once. It returns the exit code, which an operator that has received the outcome ignores.
func serve(generators map[string]Definition) int {
	_ = os.Unsetenv(marker)
	out := os.NewFile(outFD, "outcome")
	if info, err := out.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		fmt.Fprintf(os.Stderr, "%s is set, but this process was not started by an isolated generator\n", marker)
		return 1
	}
	// Programs that the generator starts must not keep the conversation open.
	syscall.CloseOnExec(outFD)
	in := os.Stdin
	if nothing, err := os.Open(os.DevNull); err == nil {
		os.Stdin = nothing
	}

	var asked request
	if err := receive(in, &asked); err != nil {
		return 1
	}
	p := &process{out: out, answers: make(chan answer), abandoned: make(chan struct{})}
	go p.listen(in)
	done := make(chan outcome)
	go func() { done <- p.render(generators, asked) }()
	select {
	case result := <-done:
		return p.finish(result)
	case <-p.abandoned:
		return 1
	}
}

// listen receives the answers. Only the operator closes the conversation, so its end means that the operator is gone: the kernel
// then closes the other end.
func (p *process) listen(in io.Reader) {
	defer close(p.abandoned)
	for {
		var received answer
		if err := receive(in, &received); err != nil {
			return
		}
		p.answers <- received
	}
}

// finish sends the outcome, or the reason why it cannot be sent.
func (p *process) finish(result outcome) int {
	p.asking.Lock()
	defer p.asking.Unlock()
	err := send(p.out, message{Outcome: &result})
	if err != nil {
		err = send(p.out, message{Outcome: &outcome{Failure: &failure{Text: fmt.Sprintf("sending the objects: %s", err)}}})
	}
	if err != nil {
		return 1
	}
	return 0
}

// call implements caller. It always waits for the answer, which would otherwise be taken for that of the next call.
func (p *process) call(ctx context.Context, asked call) (answer, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	if err := send(p.out, message{Call: &asked}); err != nil {
		return answer{}, fmt.Errorf("asking the operator: %w", err)
	}
	received := <-p.answers
	return received, received.Failure.err()
}

func (p *process) render(generators map[string]Definition, asked request) (result outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(os.Stderr, "the generator panicked: %v\n%s", cause, debug.Stack())
			result = outcome{Failure: &failure{Text: fmt.Sprintf("the generator panicked: %v", cause)}}
		}
	}()
	if err := limitMemory(asked.Memory); err != nil {
		return outcome{Failure: failureOf(fmt.Errorf("limiting the memory: %w", err))}
	}
	definition, ok := generators[asked.Generator]
	if !ok {
		return outcome{Failure: failureOf(fmt.Errorf("there is no generator %q in a process of its own", asked.Generator))}
	}
	made, err := definition.make()
	if err != nil {
		return outcome{Failure: failureOf(fmt.Errorf("creating generator %q: %w", asked.Generator, err))}
	}
	ctx, reads := generating.TrackClusterReads(context.Background())
	objects, err := p.generate(ctx, made, asked)
	result = outcome{ReadCluster: reads.Any(), Failure: failureOf(err)}
	if err == nil {
		if result.Objects, err = packObjects(made.scheme, objects); err != nil {
			result.Failure = failureOf(err)
		}
	}
	return result
}

func (p *process) generate(ctx context.Context, made *made, asked request) ([]client.Object, error) {
	if made.fingerprint() != asked.Fingerprint {
		return nil, errors.New("its New has created a different generator than in the operator; it must not depend on flags, or on anything else that was done before")
	}
	parameters, err := made.types.unpackParameters(asked.Parameters)
	if err != nil {
		return nil, err
	}
	if ctx, err = asked.Surroundings.context(ctx, made.types); err != nil {
		return nil, err
	}
	target, err := newClient(p, made.scheme, false)
	if err != nil {
		return nil, err
	}
	local, err := newClient(p, made.scheme, true)
	if err != nil {
		return nil, err
	}
	ctx = generating.WithLocalClient(generating.WithClient(ctx, target), local)
	ctx = generating.WithDiscovery(ctx, func(ctx context.Context) (*cluster.Discovery, error) {
		received, err := p.call(ctx, call{Discovery: &struct{}{}})
		return received.Discovery, err
	})
	ctx = logr.NewContext(ctx, logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	return made.Generate(ctx, asked.Namespace, asked.Name, parameters)
}
