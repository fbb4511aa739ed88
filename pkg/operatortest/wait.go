// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// pollInterval is the time between two looks at what is awaited.
const pollInterval = 20 * time.Millisecond

// WaitReady waits until a component is ready as it was declared last. The given object is changed to what it is then.
func (c *Cluster) WaitReady(tb testing.TB, object client.Object) {
	tb.Helper()
	c.WaitFor(tb, object, "the component is ready", func(status *component.Status) bool { return status.IsReady() })
}

// WaitFor waits until a condition holds for the status of a component, as it was declared last. What is awaited is part
// of the message if it does not. The given object is changed to what it is then.
func (c *Cluster) WaitFor(tb testing.TB, object client.Object, awaited string, condition func(status *component.Status) bool) {
	tb.Helper()
	key := c.locate(tb, object)
	for deadline := time.Now().Add(testenv.Patience()); ; {
		err := c.read(tb, key, object)
		if client.IgnoreNotFound(err) != nil {
			tb.Fatalf("getting %s: %v", key, err)
		}
		if status := statusOf(object); err == nil && status.ObservedGeneration == object.GetGeneration() && condition(status) {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: still not so after %s: %s\n%s", key, testenv.Patience(), awaited, c.describe(object, err))
		}
		select {
		case <-time.After(pollInterval):
		case <-c.ended:
			tb.Fatalf("%s: %s: this can no longer happen, because the operator has ended", key, awaited)
		}
	}
}

// WaitGone waits until an object does not exist.
func (c *Cluster) WaitGone(tb testing.TB, object client.Object) {
	tb.Helper()
	key := c.locate(tb, object)
	current := &unstructured.Unstructured{}
	c.Eventually(tb, func() error {
		switch err := c.read(tb, key, current); {
		case err == nil:
			return fmt.Errorf("%s exists\n%s", key, c.describe(current, nil))
		case apierrors.IsNotFound(err):
			return nil
		default:
			return fmt.Errorf("getting %s: %w", key, err)
		}
	})
}

// Eventually waits until the condition returns nil. The message has its last error.
func (c *Cluster) Eventually(tb testing.TB, condition func() error) {
	tb.Helper()
	testenv.Eventually(tb, func() (bool, string) {
		if err := condition(); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// statusOf returns the status of a component, which is empty if the object is none.
func statusOf(object client.Object) *component.Status {
	content := struct{ Status component.Status }{}
	if text, err := json.Marshal(object); err == nil {
		_ = json.Unmarshal(text, &content) // other objects have another status
	}
	return &content.Status
}

// describe says for messages how an object stands, given the error of reading it.
func (c *Cluster) describe(object client.Object, err error) string {
	if err != nil {
		return "it does not exist\n" + c.log.String()
	}
	declared := statusOf(object)
	var text strings.Builder
	if state, reason, message := declared.GetState(); state != "" {
		fmt.Fprintf(&text, "state: %s (%s): %s\n", state, reason, message)
	}
	var conditions, unready []string
	for _, condition := range declared.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s): %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	for _, item := range declared.Inventory {
		if item.Status != status.CurrentStatus {
			unready = append(unready, fmt.Sprintf("%s: %s, %s", types.IDOf(item), item.Phase, item.Status))
		}
	}
	return text.String() + section("conditions", conditions) + section("dependents that are not ready", unready) + c.log.String()
}

// keptLines is the number of lines that a message shows of the operator's log.
const keptLines = 20

// silence keeps libraries from complaining that nobody has told them where to log. What the manager and its controllers
// log is kept in a logTail.
var silence = sync.OnceFunc(func() { ctrllog.SetLogger(logr.Discard()) })

// logTail has the last lines that the operator logged.
type logTail struct {
	mu    sync.Mutex
	lines []string
}

func (l *logTail) logger() logr.Logger {
	return funcr.New(func(prefix, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, strings.TrimSpace(prefix+" "+text))
		l.lines = l.lines[max(0, len(l.lines)-keptLines):]
	}, funcr.Options{})
}

// String is a section for messages.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return section("log of the operator", l.lines)
}

// section is a heading with lines below it; empty if there are none.
func section(heading string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return heading + ":\n  " + strings.Join(lines, "\n  ") + "\n"
}
