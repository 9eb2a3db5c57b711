// A reel as a component: it suspends while the file opens, then plays.

import { useEffect } from 'react'
import { useFrame, useLoader } from '@react-three/fiber'
import { ReelLoader } from 'meshreel/three'

export function Reel({ url, loop = true, rate = 1, ...props }) {
    const reel = useLoader(ReelLoader, url)
    useEffect(() => {
        reel.play({ loop, rate })
        return () => void reel.pause()
    }, [reel, loop, rate])
    useFrame((_, dt) => void reel.update(dt))
    return <primitive object={reel} {...props} />
}
