// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// Generator runs another generator in a process of its own. It is safe for concurrent use; each call of
// Generate has its own process.
type Generator struct {
	name    string
	made    *made
	options Options
}

var (
	_ manifests.Generator = &Generator{}
	_ manifests.Pure      = &Generator{}
	_ types.SchemeBuilder = &Generator{}
)

// Fingerprint is that of the other generator.
func (g *Generator) Fingerprint() string {
	return g.made.fingerprint()
}

// AddToScheme adds the types of the other generator, if it implements types.SchemeBuilder.
func (g *Generator) AddToScheme(scheme *runtime.Scheme) error {
	if builder, ok := g.made.Generator.(types.SchemeBuilder); ok {
		return builder.AddToScheme(scheme)
	}
	return nil
}

// Generate starts a process and returns the objects that the other generator generates there. If the context ends, or a limit of the options is
// exceeded, the process is killed or fails, and the error says why. No process is left when Generate returns.
func (g *Generator) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	asked := request{Generator: g.name, Fingerprint: g.made.fingerprint(), Memory: g.options.Memory, Namespace: namespace, Name: name}
	var err error
	if asked.Parameters, err = g.made.types.pack("parameters", parameters); err != nil {
		return nil, err
	}
	if asked.Surroundings, err = surroundingsOf(ctx, g.made.types); err != nil {
		return nil, err
	}
	framed, err := frame(asked)
	if err != nil {
		return nil, fmt.Errorf("sending the parameters to a process of its own: %w", err)
	}
	result, err := g.render(ctx, framed)
	if err != nil {
		return nil, fmt.Errorf("rendering in a process of its own: %w", err)
	}
	if result.ReadCluster {
		generator.MarkClusterRead(ctx)
	}
	if result.Failure != nil {
		return nil, result.Failure.err()
	}
	return unpackObjects(g.made.scheme, result.Objects)
}

// reapDelay is how long programs that the process has started may keep its output open after its end.
const reapDelay = time.Second

func (g *Generator) render(outer context.Context, framed []byte) (*outcome, error) {
	ctx, cancel := context.WithTimeout(outer, g.options.Timeout)
	defer cancel()
	program, err := executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program: %w", err)
	}
	command := exec.CommandContext(ctx, program)
	command.Args = []string{os.Args[0]}
	command.Env = append(os.Environ(), marker+"="+g.name)
	command.WaitDelay = reapDelay
	errorOutput := &tail{}
	command.Stdout = os.Stdout
	command.Stderr = io.MultiWriter(os.Stderr, errorOutput)

	result, err := converse(ctx, command, framed)
	switch {
	case err == nil:
		return result, nil
	case outer.Err() != nil:
		return nil, fmt.Errorf("it was killed: %w", context.Cause(outer))
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it was killed, because it took longer than %s", g.options.Timeout)
	case noMemory.MatchString(errorOutput.cause()):
		return nil, fmt.Errorf("it failed, because it needed more memory than %d MiB", g.options.Memory>>20)
	case errorOutput.cause() != "":
		return nil, fmt.Errorf("it has failed (%s): %s", command.ProcessState, errorOutput.cause())
	case command.ProcessState != nil:
		return nil, fmt.Errorf("it has ended (%s): %w", command.ProcessState, err)
	default:
		return nil, err
	}
}

// converse starts the process, answers its calls until there is an outcome, and ends it.
func converse(ctx context.Context, command *exec.Cmd, framed []byte) (*outcome, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	command.ExtraFiles = []*os.File{theirs}
	err = command.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, fmt.Errorf("starting it: %w", err)
	}
	result, err := talk(ctx, in, out, framed)
	// Its result is no longer needed.
	_ = command.Process.Kill()
	_ = in.Close()
	_ = command.Wait()
	return result, err
}

// talk returns the outcome. The process may stop talking at any time.
func talk(ctx context.Context, in io.Writer, out io.Reader, framed []byte) (*outcome, error) {
	if _, err := in.Write(framed); err != nil {
		return nil, fmt.Errorf("sending the parameters: %w", err)
	}
	for {
		var received message
		if err := receive(out, &received); err != nil {
			return nil, fmt.Errorf("waiting for the objects: %w", err)
		}
		if received.Outcome != nil {
			return received.Outcome, nil
		}
		if received.Call == nil {
			return nil, errors.New("waiting for the objects: got a message without content")
		}
		answered := respond(ctx, *received.Call)
		if err := send(in, answered); err != nil {
			if tooLarge := (tooLargeError{}); !errors.As(err, &tooLarge) {
				return nil, fmt.Errorf("answering a call: %w", err)
			}
			if err := send(in, answer{Failure: failureOf(fmt.Errorf("reading from the cluster: %w", err))}); err != nil {
				return nil, fmt.Errorf("answering a call: %w", err)
			}
		}
	}
}
