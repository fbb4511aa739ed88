// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// keptLines is the number of lines that a message shows of the operator's log.
const keptLines = 20

// silence keeps libraries from complaining that nobody has told them where to log. What the manager and its controllers log is kept in a logTail.
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
