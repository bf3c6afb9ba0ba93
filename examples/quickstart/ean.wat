;; Completes an EAN-13. It reads JSON whose only digits are the first twelve of a number,
;; such as {"digits": "400638133393"}, and writes all thirteen. The last one makes the sum
;; of the digits, every second one taken three times, a multiple of ten.
;;
;; ean.wasm is made of this file with wabt: wat2wasm ean.wat
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))

  ;; 0 address and 4 length of a buffer, 8 how much of it was used, 16 the number,
  ;; 32 the error message, 64 what is read
  (memory (export "memory") 1)
  (data (i32.const 32) "expected 12 digits")

  (func $write (param $to i32) (param $from i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $from))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 8))))

  ;; $read reads some of standard input and returns how much; 0 at its end.
  (func $read (result i32)
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.const 1024))
    (i32.store (i32.const 8) (i32.const 0))
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.load (i32.const 8)))

  (func (export "_start") (local $left i32) (local $at i32) (local $digit i32) (local $count i32) (local $sum i32)
    (block $end
      (loop $more
        (local.set $at (i32.const 64))
        (br_if $end (i32.eqz (local.tee $left (call $read))))
        (loop $next
          (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
          (if (i32.lt_u (local.get $digit) (i32.const 10)) (then
            (if (i32.lt_u (local.get $count) (i32.const 12)) (then
              (i32.store8 offset=16 (local.get $count) (i32.load8_u (local.get $at)))))
            (local.set $sum (i32.add (local.get $sum) (i32.mul (local.get $digit)
              (i32.add (i32.const 1) (i32.mul (i32.const 2) (i32.and (local.get $count) (i32.const 1)))))))
            (local.set $count (i32.add (local.get $count) (i32.const 1)))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
        (br $more)))
    (if (i32.ne (local.get $count) (i32.const 12)) (then
      (call $write (i32.const 2) (i32.const 32) (i32.const 18))
      (call $proc_exit (i32.const 1))))
    (i32.store8 (i32.const 28) (i32.add (i32.const 48)
      (i32.rem_u (i32.sub (i32.const 1000) (local.get $sum)) (i32.const 10))))
    (call $write (i32.const 1) (i32.const 16) (i32.const 13))))
